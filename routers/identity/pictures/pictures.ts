import { z } from 'zod'
import type { User } from '../../../entities/identity/user.ts'
import { findOrphanedPictures } from '../../../entities/views/picture.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { deletePictures, large, storePicture } from './picture-files.ts'
import { reencode } from './reencode.ts'

/** The bytes of an image, beyond what a setting would allow. */
export const imageBytes = z.base64().max(40_000_000)

/** Gives a user a square picture made of an image, judged by its content; the one before is deleted. */
export async function storeAvatar(ctx: Context, user: User, image: Uint8Array): Promise<string | null> {
  const write = async (key: string | null) => {
    user.avatar = key
    await ctx.em().flush()
    return key
  }
  return exchange(ctx, { before: user.avatar ?? null, image, write })
}

interface PictureChange<T, Image> {
  /** The storage key of the picture that is there. */
  before: string | null
  /** Null for none. */
  image: Image | null
  /** Writes the row that names the picture. */
  write: (key: string | null) => Promise<T>
}

/** Stores a picture, given as base64, for a row that is then written; the one before is deleted. */
export function replacePicture<T>(ctx: Context, { image, ...change }: PictureChange<T, string>): Promise<T> {
  return exchange(ctx, { ...change, image: image === null ? null : assertSmall(ctx, Buffer.from(image, 'base64')) })
}

/** A picture is stored before a row names it, and deleted after: a row never names one that is not there. */
async function exchange<T>(ctx: Context, { before, image, write }: PictureChange<T, Uint8Array>): Promise<T> {
  const key = image && (await storePicture(ctx.services, image))
  const written = await write(key).catch(async (error: unknown) => {
    // After a lost connection the row may be there, and the sweep finds out.
    if (key && error instanceof Problem) await deleteUnnamed(ctx, key)
    throw error
  })
  if (before) await deletePictures(ctx.services, [before])
  return written
}

/** Keeps a picture that a row names: a problem may come after the row was written, such as for who sees it no more. */
async function deleteUnnamed({ services }: Context, key: string): Promise<void> {
  const orphaned = await services.sql(findOrphanedPictures, [[key]])
  await deletePictures(
    services,
    orphaned.map(({ name }) => name),
  )
}

function assertSmall({ services }: Context, image: Buffer): Buffer {
  const { maxFileSize } = services.settings.public.avatars
  if (image.length <= maxFileSize) return image
  throw new Problem('invalid', { issues: [{ path: ['avatar'], message: `must have at most ${maxFileSize} bytes` }] })
}

/** Throws where an image cannot become a picture. */
export const assertPicture = async (image: Uint8Array): Promise<void> => void (await reencode(image, large))
