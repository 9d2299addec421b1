import { randomUUID } from 'node:crypto'
import type { User } from '../entities/user.ts'
import type { Context } from './context.ts'
import { Problem } from './problems.ts'

const formats = ['png', 'jpeg', 'webp', 'gif', 'avif']
const side = 256

/** Gives a user a square picture made of an image, judged by its content, or none; the one before is deleted. */
export async function storeAvatar(ctx: Context, user: User, image: Uint8Array | null): Promise<string | null> {
  const { em, storage } = ctx
  const key = image && (await storePicture(ctx, image))
  const before = user.avatar
  user.avatar = key
  await em().flush()
  if (before) await storage.delete(before)
  return key
}

/** Keeps a picture that nobody has yet. */
export async function storePicture({ storage }: Context, image: Uint8Array): Promise<string> {
  const key = `avatars/${randomUUID()}.webp`
  await storage.put(key, await reencode(image))
  return key
}

/** Decoding and encoding again leaves nothing of the file but its pixels. */
async function reencode(image: Uint8Array): Promise<Uint8Array> {
  try {
    // Loaded when first needed: it takes more memory than most services ever use of it.
    const { default: sharp } = await import('sharp')
    const picture = sharp(image, { limitInputPixels: 40_000_000, failOn: 'error' })
    const { format } = await picture.metadata()
    if (!formats.includes(format)) throw new Error(`unwanted format ${format}`)
    return await picture.rotate().resize(side, side, { fit: 'cover' }).webp().toBuffer()
  } catch (cause) {
    const detail = `This is not an image of the kinds ${formats.join(', ')}.`
    throw new Problem('invalid', { detail, issues: [{ path: ['avatar'], message: 'is not such an image' }], cause })
  }
}
