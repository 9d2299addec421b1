import type { Services } from '../core/services.ts'
import { deletePicture } from '../identity/pictures.ts'

/** Deletes files to which nothing refers any more; what stays is logged. */
export async function deleteFiles({ storage, log }: Pick<Services, 'storage' | 'log'>, keys: readonly string[]) {
  const stays = (error: unknown) => log.warn({ error }, 'a picture could not be deleted')
  for (const key of keys) await deletePicture(storage, key).catch(stays)
}
