import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { User } from '../../entities/identity/user.ts'
import { createBulkhead } from '../core/bulkhead.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'

const formats = ['png', 'jpeg', 'webp', 'gif', 'avif']
const side = 256

/** An interlaced picture is decoded as a whole, with 4 to 8 bytes a pixel. */
const MAX_PIXELS = 16_000_000
const MAX_SECONDS = 10

/** The bytes of an image, beyond what a setting would allow. */
export const imageBytes = z.base64().max(40_000_000)

/** Gives a user a square picture made of an image, judged by its content, or none; the one before is deleted. */
export async function storeAvatar(ctx: Context, user: User, image: Uint8Array | null): Promise<string | null> {
  const { storage } = ctx.services
  const key = image && (await storePicture(ctx, image))
  const before = user.avatar
  user.avatar = key
  await ctx.em().flush()
  if (before) await storage.delete(before)
  return key
}

/** Keeps a picture that nobody has yet. */
export async function storePicture({ services }: Context, image: Uint8Array): Promise<string> {
  const key = `avatars/${randomUUID()}.webp`
  await services.storage.put(key, await reencode(image))
  return key
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
    if (key) await storage.delete(key)
    throw error
  })
  if (before) await storage.delete(before)
  return written
}

function assertSmall({ services }: Context, image: Buffer): Buffer {
  const { maxFileSize } = services.settings.public.avatars
  if (image.length <= maxFileSize) return image
  throw new Problem('invalid', { issues: [{ path: ['avatar'], message: `must have at most ${maxFileSize} bytes` }] })
}

/** The threads that decode belong to the process, and so does this limit. */
const decoding = createBulkhead(1, 4)

const reencode = (image: Uint8Array): Promise<Uint8Array> => decoding(() => squarePicture(image))

/** Throws where an image cannot become a picture. */
export const assertPicture = async (image: Uint8Array): Promise<void> => void (await reencode(image))

/** Decoding and encoding again leaves nothing of the file but its pixels. */
async function squarePicture(image: Uint8Array): Promise<Uint8Array> {
  try {
    const sharp = await loadSharp()
    const { format, width, height } = await sharp(image, { limitInputPixels: false }).metadata()
    if (!formats.includes(format)) throw new Error(`unwanted format ${format}`)
    if (width * height > MAX_PIXELS) throw tooLarge()
    const picture = sharp(image, { limitInputPixels: MAX_PIXELS, sequentialRead: true, failOn: 'error' })
    const square = picture.rotate().resize(side, side, { fit: 'cover' }).webp()
    return await square.timeout({ seconds: MAX_SECONDS }).toBuffer()
  } catch (error) {
    throw error instanceof Problem ? error : notAnImage(error)
  }
}

/** Loaded when first needed: it takes more memory than most services ever use of it. */
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  sharp.concurrency(1)
  sharp.cache(false)
  return sharp
}

function tooLarge(): Problem {
  const message = `must have at most ${MAX_PIXELS / 1_000_000} megapixels`
  return new Problem('invalid', { detail: `The picture ${message}.`, issues: [{ path: ['avatar'], message }] })
}

function notAnImage(cause: unknown): Problem {
  const kinds = `an image of the kinds ${formats.join(', ')}`
  const issues = [{ path: ['avatar'], message: `must be ${kinds}` }]
  return new Problem('invalid', { detail: `This is not ${kinds}.`, issues, cause })
}

/** Identifies the picture that the AI user has until it is given another. It is drawn in `ai-user.svg`. */
export const BUILT_IN_AI_PICTURE = 'built-in/ai-user.webp'

export const readBuiltInAiPicture = (): Promise<Uint8Array> => readFile(new URL('ai-user.webp', import.meta.url))
