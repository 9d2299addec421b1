import { readFile } from 'node:fs/promises'
import type { FastifyBaseLogger } from 'fastify'
import { storePicture } from '../routers/identity/pictures/picture-files.ts'
import type { Env } from './config/settings.ts'
import type { AiUser } from './database/migrate.ts'
import { openBlobs } from './stores/blobs/open-blobs.ts'
import { createSealedStorage } from './stores/sealed-storage.ts'
import { createVault, readOrCreateAppKey } from './stores/vault.ts'

/** Reads the AI user from the settings; it is fixed when the database is created. */
export function readAiUser(env: Env, log: FastifyBaseLogger): AiUser {
  const { SVC_NAME: name, SVC_USERNAME: username, SVC_AVATAR: file } = env
  return { name, username, ...(file && { storeAvatar: () => storeAvatar(env, file, log) }) }
}

/** Stores the picture of the AI user without the picture service, which needs the database. */
async function storeAvatar(env: Env, file: string, log: FastifyBaseLogger): Promise<string> {
  const vault = createVault(env.APP_KEY ?? (await readOrCreateAppKey(env.DATA_DIR)), env.APP_PREVIOUS_KEYS)
  const blobs = await openBlobs(env)
  try {
    return await storePicture({ files: { storage: createSealedStorage(vault, blobs) }, log }, await readFile(file))
  } catch (cause) {
    throw new Error(`SVC_AVATAR: ${(cause as Error).message}`, { cause })
  } finally {
    await blobs.close()
  }
}
