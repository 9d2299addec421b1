import { z } from 'zod'
import type { User } from '../../../entities/identity/user.ts'
import { findOrphanedPictures } from '../../../entities/views/picture.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { deletePictures, largeShape, storePicture } from './picture-files.ts'
import { reencode } from './reencode.ts'

/** Maximum bytes of an image, above any configurable limit. */
export const imageBytes = z.base64().max(40_000_000)

/** Stores an image as a user's picture and deletes the previous one. */
export async function storeAvatar(ctx: Context, user: User, image: Uint8Array): Promise<string | null> {
  const write = async (key: string | null) => {
    user.avatar = key
    await ctx.em().flush()
    return key
  }
  return swapPicture(ctx, { before: user.avatar ?? null, image, write })
}

interface PictureChange<T, Image> {
  /** Storage key of the current picture. */
  before: string | null
  /** Null removes the picture. */
  image: Image | null
  /** Writes the row that names the picture. */
  write: (key: string | null) => Promise<T>
}

/** Stores a picture in base64, writes its row and deletes the previous picture. */
export function replacePicture<T>(ctx: Context, { image, ...change }: PictureChange<T, string>): Promise<T> {
  return swapPicture(ctx, {
    ...change,
    image: image === null ? null : assertPictureSize(ctx, Buffer.from(image, 'base64')),
  })
}

/**
 * Stores the new file before its row is written and deletes the old one afterwards, so that a row never names a missing
 * file.
 */
async function swapPicture<T>(ctx: Context, { before, image, write }: PictureChange<T, Uint8Array>): Promise<T> {
  const key = image && (await storePicture(ctx.services, image))
  const result = await write(key).catch(async (error: unknown) => {
    // After a lost connection the row may have been written; the cleanup decides.
    if (key && error instanceof Problem) await deleteOrphanedPictures(ctx, [key])
    throw error
  })
  if (before) await deletePictures(ctx.services, [before])
  return result
}

/** Deletes pictures unless a row names them: an error may follow a successful write, and versions of an assistant share one. */
export async function deleteOrphanedPictures({ services }: Context, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  const orphaned = await services.sql(findOrphanedPictures, [keys])
  await deletePictures(
    services,
    orphaned.map(({ name }) => name),
  )
}

function assertPictureSize({ services }: Context, image: Buffer): Buffer {
  const { maxFileSize } = services.settings.public.avatars
  if (image.length <= maxFileSize) return image
  throw new Problem('invalid', { issues: [{ path: ['avatar'], message: `must have at most ${maxFileSize} bytes` }] })
}

/** Throws if the image cannot be converted to a picture. */
export const assertPicture = async (image: Uint8Array): Promise<void> => void (await reencode(image, largeShape))
