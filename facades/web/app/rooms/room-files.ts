import { openFile, type RoomKeys, sealFile } from '../../browser/crypto.ts'
import { saveFile } from '../shared/save-file.ts'
import type { RoomFile } from './room.ts'

/** Media types by file extension, as the type of an encrypted file is unknown to the service. */
const mediaTypes: Record<string, string> = {
  gif: 'image/gif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  json: 'application/json',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
}

export const getMediaType = ({ name }: Pick<RoomFile, 'name'>): string =>
  mediaTypes[name.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'application/octet-stream'

/** The largest picture that is shown without a click. */
export const PREVIEW_BYTES = 5 * 1024 * 1024

/** Encrypts a file for upload to a room. */
export async function sealRoomFile(file: Blob, roomKey: string, keyEpoch: number): Promise<Blob> {
  return new Response(file.stream().pipeThrough(await sealFile(roomKey, keyEpoch))).blob()
}

/** Downloads and decrypts a file. A file that was altered fails as a whole. */
export async function openRoomFile(file: RoomFile, keys: RoomKeys): Promise<Blob> {
  const response = await fetch(`/proxy/storage/${file.identifier}`)
  if (!response.ok || !response.body) throw new Error(`The file could not be read: ${response.status}`)
  const plain = file.clientEncrypted ? response.body.pipeThrough(openFile(keys)) : response.body
  return new Blob([await new Response(plain).arrayBuffer()], { type: getMediaType(file) })
}

/** Decrypts a file and saves it under its name. */
export async function saveRoomFile(file: RoomFile, keys: RoomKeys): Promise<void> {
  saveFile(await openRoomFile(file, keys), file.name)
}
