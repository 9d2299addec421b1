import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import { AppFiles, type AppSource } from '../facades/web/app-files.ts'
import type { Env } from './config/settings.ts'

/** The flag that `npm run dev` adds to the command. */
const DEV_FLAG = '--dev'

/** Returns the folder into which the front end is built if the package folder is read-only. */
export const frontEndFolder = ({ DATA_DIR }: Env) => join(DATA_DIR, 'front-end')

/** Opens the built front end, or with `--dev` a development server that serves its sources. */
export async function openAppSource(env: Env, log: FastifyBaseLogger): Promise<AppSource> {
  if (process.argv.includes(DEV_FLAG)) {
    if (env.NODE_ENV === 'production') throw new Error('`npm run dev` serves no production: start with `npm start`.')
    const { AppDevServer } = await import('../facades/web/app-dev.ts')
    return new AppDevServer()
  }
  const files = new AppFiles(frontEndFolder(env))
  // The build runs while the database starts, so that the first visitor does not wait for it.
  files.build().catch((error: unknown) => log.error({ error }, 'the front end could not be built'))
  return files
}
