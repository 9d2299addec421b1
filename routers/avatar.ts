import { randomUUID } from 'node:crypto'
import type { User } from '../entities/user.ts'
import type { Context } from './context.ts'
import { Problem } from './problems.ts'

const formats = ['png', 'jpeg', 'webp', 'gif', 'avif']
const side = 256

/** Gives a user a square picture made of an image, judged by its content, or none; the one before is deleted. */
export async function storeAvatar(
  { em, storage }: Context,
  user: User,
  image: Uint8Array | null,
): Promise<string | null> {
  const key = image && `avatars/${randomUUID()}.webp`
  const before = user.avatar
  if (key) await storage.put(key, await reencode(image))
  user.avatar = key
  await em().flush()
  if (before) await storage.delete(before)
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
    throw new Problem('invalid', { detail: `This is not an image of the kinds ${formats.join(', ')}.`, cause })
  }
}
