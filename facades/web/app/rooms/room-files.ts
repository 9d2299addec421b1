import { openFile, type RoomKeys, sealFile } from '../../browser/crypto.ts'
import { saveFile } from '../shared/save-file.ts'
import type { RoomFile } from './room.ts'

/** Media types by the ends of names, as an encrypted file tells nothing of what it is. */
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

/** Pictures that are larger are shown once somebody wants them. */
export const PREVIEW_BYTES = 5 * 1024 * 1024

/** A file as it is uploaded to a room. */
export async function sealRoomFile(file: Blob, roomKey: string, keyEpoch: number): Promise<Blob> {
  return new Response(file.stream().pipeThrough(await sealFile(roomKey, keyEpoch))).blob()
}

/** Downloads and opens a file. It is whole, or there is none: what was altered fails. */
export async function openRoomFile(file: RoomFile, keys: RoomKeys): Promise<Blob> {
  const response = await fetch(`/proxy/storage/${file.identifier}`)
  if (!response.ok || !response.body) throw new Error(`The file could not be read: ${response.status}`)
  const plain = file.clientEncrypted ? response.body.pipeThrough(openFile(keys)) : response.body
  return new Blob([await new Response(plain).arrayBuffer()], { type: getMediaType(file) })
}

/** Gives a file to the person, by the name that it has. */
export async function saveRoomFile(file: RoomFile, keys: RoomKeys): Promise<void> {
  saveFile(await openRoomFile(file, keys), file.name)
}

/** A browser writes large files so much faster than we could. */
export const readBase64 = (blob: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(blob)
  })
