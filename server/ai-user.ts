import { readFile } from 'node:fs/promises'
import type { FastifyBaseLogger } from 'fastify'
import { storePicture } from '../routers/identity/pictures/picture-files.ts'
import type { Env } from './config/settings.ts'
import { generatedKey } from './database/cluster-lock.ts'
import type { AiUser } from './database/migrate.ts'
import { openBlobs } from './stores/blobs/open-blobs.ts'
import { sealedStorage } from './stores/sealed-storage.ts'
import { createVault } from './stores/vault.ts'

/** The AI user as the settings have it when the database is made. */
export function createAiUser(env: Env, log: FastifyBaseLogger): AiUser {
  const { SVC_NAME: name, SVC_USERNAME: username, SVC_AVATAR: file } = env
  return { name, username, ...(file && { storeAvatar: () => storeAvatar(env, file, log) }) }
}

/** Stores the picture before there are the services that other pictures go through, which need the database. */
async function storeAvatar(env: Env, file: string, log: FastifyBaseLogger): Promise<string> {
  const vault = createVault(env.APP_KEY ?? (await generatedKey(env.DATA_DIR)), env.APP_PREVIOUS_KEYS)
  const blobs = await openBlobs(env)
  try {
    return await storePicture({ storage: sealedStorage(vault, blobs), log }, await readFile(file))
  } catch (cause) {
    throw new Error(`SVC_AVATAR: ${(cause as Error).message}`, { cause })
  } finally {
    await blobs.close()
  }
}
