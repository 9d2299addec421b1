import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import { AppFiles, type AppSource } from '../facades/web/app-files.ts'
import type { Env } from './config/settings.ts'

/** What `npm run dev` adds to the command. */
const DEV = '--dev'

/** Where the front end is built if the folder of the packages cannot be written. */
export const appFolder = ({ DATA_DIR }: Env) => join(DATA_DIR, 'front-end')

/** The built front end; or the sources themselves for whoever works on them, which is never for use. */
export async function openAppSource(env: Env, log: FastifyBaseLogger): Promise<AppSource> {
  if (process.argv.includes(DEV)) {
    if (env.NODE_ENV === 'production') throw new Error('`npm run dev` serves no production: start with `npm start`.')
    const { AppDevServer } = await import('../facades/web/app-dev.ts')
    return new AppDevServer()
  }
  const files = new AppFiles(appFolder(env))
  // While the database starts, so that the first visitor does not wait for it.
  files.build().catch((error: unknown) => log.error({ error }, 'the front end could not be built'))
  return files
}
