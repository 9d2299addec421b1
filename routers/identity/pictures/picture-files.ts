import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { BUILT_IN_PICTURE } from '../../../entities/identity/picture.ts'
import type { FileServices, Services } from '../../core/services.ts'
import type { BlobEntry, Storage } from '../../ports/files/storage.ts'
import { type PictureShape, reencode } from './reencode.ts'

/** Storage folder for pictures of people and rooms. */
const FOLDER = 'avatars/'

/** Stored sizes of a picture. */
export const largeShape: PictureShape = { width: 256, height: 256, fit: 'cover' }
const smallShape: PictureShape = { width: 64, height: 64, fit: 'cover' }

export const pictureSize = z.enum(['large', 'small']).default('large')
type PictureSize = z.output<typeof pictureSize>

interface PictureServices extends Pick<Services, 'log'> {
  files: Pick<FileServices, 'storage'>
}

const buildKey = (uuid: string) => `${FOLDER}${uuid}.webp`

/** Returns the storage key of a picture by its identifier, such as `profile_avatars-{uuid}`. */
export const toPictureKey = (identifier: string): string => buildKey(identifier.slice(identifier.indexOf('-') + 1))

/** The built-in picture is drawn in `ai-user.svg` and is not in the storage. */
const BUILT_IN_KEY = buildKey(BUILT_IN_PICTURE)

const readBuiltInAiPicture = (): Promise<Uint8Array> => readFile(new URL('ai-user.webp', import.meta.url))

/** Stores a picture in all sizes and returns its key, which no row names yet. */
export async function storePicture(services: PictureServices, image: Uint8Array): Promise<string> {
  const square = await reencode(image, largeShape)
  const smallSquare = await reencode(square, smallShape)
  const key = buildKey(randomUUID())
  try {
    await services.files.storage.put(key, square)
    await services.files.storage.put(toSmallKey(key), smallSquare)
  } catch (error) {
    await deletePictures(services, [key])
    throw error
  }
  return key
}

/** Returns the key of the small size. */
export const toSmallKey = (key: string) => key.replace(/\.webp$/, '-small.webp')

/** Reads a picture. Pictures from before there were sizes exist only in the large one. */
export async function readPicture({ files: { storage } }: Pick<Services, 'files'>, key: string, size: PictureSize) {
  if (key === BUILT_IN_KEY) return readBuiltInAiPicture()
  return size === 'large' ? storage.get(key) : storage.get(toSmallKey(key)).catch(() => storage.get(key))
}

/** Deletes all sizes of pictures that no row names. Failures are logged, and the hourly cleanup deletes what remains. */
export async function deletePictures(
  { log, files: { storage } }: PictureServices,
  keys: readonly string[],
): Promise<void> {
  for (const key of keys) {
    const outcomes = await Promise.allSettled([toSmallKey(key), key].map((file) => storage.delete(file)))
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') log.warn({ error: outcome.reason }, 'a picture could not be deleted')
  }
}

/** The files of a picture, by the key that a row would contain. */
export interface PictureFiles {
  name: string
  files: BlobEntry[]
}

/** Lists all stored pictures in the order of their keys. */
export async function* listPictures(storage: Storage): AsyncGenerator<PictureFiles, void> {
  let picture: PictureFiles | undefined
  for await (const file of storage.list(FOLDER)) {
    // The small size is listed directly before the large one.
    const name = file.key.replace(/-small\.webp$/, '.webp')
    if (picture && picture.name !== name) yield picture
    picture = { name, files: picture?.name === name ? [...picture.files, file] : [file] }
  }
  if (picture) yield picture
}
