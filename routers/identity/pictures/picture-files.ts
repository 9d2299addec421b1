import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { BUILT_IN_PICTURE } from '../../../entities/identity/picture.ts'
import type { Services } from '../../core/services.ts'
import type { BlobEntry, Storage } from '../../ports/files/storage.ts'
import { type PictureShape, reencode } from './reencode.ts'

/** Where pictures of people and rooms are stored. */
const FOLDER = 'avatars/'

/** The squares that are kept of a picture. */
export const large: PictureShape = { width: 256, height: 256, fit: 'cover' }
const small: PictureShape = { width: 64, height: 64, fit: 'cover' }

export const pictureSize = z.enum(['large', 'small']).default('large')
type PictureSize = z.output<typeof pictureSize>

type Parts = Pick<Services, 'storage' | 'log'>

const buildKey = (uuid: string) => `${FOLDER}${uuid}.webp`

/** The storage key of a picture, by its identifier such as `profile_avatars-{uuid}`. */
export const keyOfPicture = (identifier: string): string => buildKey(identifier.slice(identifier.indexOf('-') + 1))

/** It is drawn in `ai-user.svg`, and not stored with the others. */
export const BUILT_IN_KEY = buildKey(BUILT_IN_PICTURE)

const readBuiltInAiPicture = (): Promise<Uint8Array> => readFile(new URL('ai-user.webp', import.meta.url))

/** Keeps a picture that no row names yet, in its sizes. */
export async function storePicture(parts: Parts, image: Uint8Array): Promise<string> {
  const square = await reencode(image, large)
  const smallSquare = await reencode(square, small)
  const key = buildKey(randomUUID())
  try {
    await parts.storage.put(key, square)
    await parts.storage.put(toSmallKey(key), smallSquare)
  } catch (error) {
    await deletePictures(parts, [key])
    throw error
  }
  return key
}

/** The key of the small square of a picture. */
export const toSmallKey = (key: string) => key.replace(/\.webp$/, '-small.webp')

/** One that was stored before there were sizes has only the large one. */
export async function readPicture({ storage }: Pick<Services, 'storage'>, key: string, size: PictureSize) {
  if (key === BUILT_IN_KEY) return readBuiltInAiPicture()
  return size === 'large' ? storage.get(key) : storage.get(toSmallKey(key)).catch(() => storage.get(key))
}

/** Deletes pictures that no row names any more, in all their sizes. What stays is logged, and found by the hourly sweep. */
export async function deletePictures({ storage, log }: Parts, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const outcomes = await Promise.allSettled([toSmallKey(key), key].map((file) => storage.delete(file)))
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') log.warn({ error: outcome.reason }, 'a picture could not be deleted')
  }
}

/** The files of a picture, under the key that a row would name it by. */
export interface PictureFiles {
  name: string
  files: BlobEntry[]
}

/** All that is stored of pictures, in the order of the keys. */
export async function* listPictures(storage: Storage): AsyncGenerator<PictureFiles, void> {
  let picture: PictureFiles | undefined
  for await (const file of storage.list(FOLDER)) {
    // The small one is listed right in front of the large one.
    const name = file.key.replace(/-small\.webp$/, '.webp')
    if (picture && picture.name !== name) yield picture
    picture = { name, files: picture?.name === name ? [...picture.files, file] : [file] }
  }
  if (picture) yield picture
}
