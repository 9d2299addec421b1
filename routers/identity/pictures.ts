import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { User } from '../../entities/identity/user.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import type { Storage } from '../ports/storage.ts'
import { type PictureShape, reencode } from './reencode.ts'

/** The squares that are kept of a picture. */
const large: PictureShape = { width: 256, height: 256, fit: 'cover' }
const small: PictureShape = { width: 64, height: 64, fit: 'cover' }

/** The bytes of an image, beyond what a setting would allow. */
export const imageBytes = z.base64().max(40_000_000)

export const pictureSize = z.enum(['large', 'small']).default('large')
type PictureSize = z.output<typeof pictureSize>

/** Gives a user a square picture made of an image, judged by its content, or none; the one before is deleted. */
export async function storeAvatar(ctx: Context, user: User, image: Uint8Array | null): Promise<string | null> {
  const { storage } = ctx.services
  const key = image && (await storePicture(ctx, image))
  const before = user.avatar
  user.avatar = key
  await ctx.em().flush()
  if (before) await deletePicture(storage, before)
  return key
}

/** Keeps a picture that nobody has yet, in its sizes. */
async function storePicture({ services: { storage } }: Context, image: Uint8Array): Promise<string> {
  const square = await reencode(image, large)
  const smallSquare = await reencode(square, small)
  const key = `avatars/${randomUUID()}.webp`
  await storage.put(key, square)
  await storage.put(smallOf(key), smallSquare).catch(async (error: unknown) => {
    await storage.delete(key)
    throw error
  })
  return key
}

const smallOf = (key: string) => key.replace(/\.webp$/, '-small.webp')

/** One that was stored before there were sizes has only the large one. */
export async function readPicture({ services: { storage } }: Context, key: string, size: PictureSize) {
  if (key === BUILT_IN_AI_PICTURE) return readBuiltInAiPicture()
  return size === 'large' ? storage.get(key) : storage.get(smallOf(key)).catch(() => storage.get(key))
}

/** In all its sizes. */
export async function deletePicture(storage: Storage, key: string): Promise<void> {
  await storage.delete(smallOf(key))
  await storage.delete(key)
}

interface PictureChange<T> {
  /** The storage key of the picture that is there. */
  before: string | null
  /** As base64, or null for none. */
  image: string | null
  /** Writes the row that names the picture. */
  write: (key: string | null) => Promise<T>
}

/** Stores a picture for a row that is then written; the one before goes once nothing refers to it any more. */
export async function replacePicture<T>(ctx: Context, { before, image, write }: PictureChange<T>): Promise<T> {
  const { storage } = ctx.services
  const key = image && (await storePicture(ctx, assertSmall(ctx, Buffer.from(image, 'base64'))))
  const written = await write(key).catch(async (error: unknown) => {
    if (key) await deletePicture(storage, key)
    throw error
  })
  if (before) await deletePicture(storage, before)
  return written
}

function assertSmall({ services }: Context, image: Buffer): Buffer {
  const { maxFileSize } = services.settings.public.avatars
  if (image.length <= maxFileSize) return image
  throw new Problem('invalid', { issues: [{ path: ['avatar'], message: `must have at most ${maxFileSize} bytes` }] })
}

/** Throws where an image cannot become a picture. */
export const assertPicture = async (image: Uint8Array): Promise<void> => void (await reencode(image, large))

/** Identifies the picture that the AI user has until it is given another. It is drawn in `ai-user.svg`. */
export const BUILT_IN_AI_PICTURE = 'built-in/ai-user.webp'

const readBuiltInAiPicture = (): Promise<Uint8Array> => readFile(new URL('ai-user.webp', import.meta.url))
