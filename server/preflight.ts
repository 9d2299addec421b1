import { access, readFile } from 'node:fs/promises'
import { assertPicture } from '../routers/identity/pictures/pictures.ts'
import { readModelConfig } from './config/ai-config.ts'
import { processEnv, readEnv } from './config/env.ts'
import { readExtApps } from './config/ext-apps.ts'
import { loadExtensions } from './config/extensions.ts'
import { loadFrontendMigrations } from './config/frontend-migrations.ts'
import { loadLabels } from './config/labels.ts'
import { readLimits } from './config/limits.ts'
import { list } from './config/settings/kinds.ts'
import type { Env } from './config/settings.ts'
import { readLogo } from './config/site.ts'
import { assertHashes, readAccounts } from './login/accounts.ts'

/**
 * The settings of a service that is about to start, with a look into the files and folders they name: throws one list of
 * all that is wrong, before anything is made.
 *
 * Not into ANNOUNCEMENTS, as a command makes that folder, and which texts must be there is in the database: what is missing is
 * told to the log.
 */
export async function readWholeEnv(source?: NodeJS.ProcessEnv): Promise<Env> {
  const values = source ?? processEnv().values
  const outcomes = await Promise.allSettled([(async () => readEnv(source))(), ...looks(values)])
  const problems = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []))
  const [settings] = outcomes
  if (problems.length > 0 || settings.status === 'rejected')
    throw new Error(problems.map(({ message }) => message).join('\n'))
  return settings.value
}

/** Each setting that names a file or a folder that must be there by then, or that a library judges, with what reads it later. */
const readers: Record<string, (value: string, values: NodeJS.ProcessEnv) => Promise<unknown>> = {
  AI_CONFIG: (path, values) => readModelConfig(path, values, { demo: values['NODE_ENV'] !== 'production' }),
  LIMITS: readLimits,
  EXT_APPS: readExtApps,
  SVC_AVATAR: async (path) => assertPicture(await readFile(path)),
  EXTENSIONS: (paths) => loadExtensions(list.parse(paths)),
  LABELS_DIR: async (path) => {
    await access(path)
    await loadLabels(path)
  },
  FRONTEND_MIGRATIONS: loadFrontendMigrations,
  LDAP_CA_FILE: async (path) => {
    if (!(await readFile(path, 'utf8')).includes('BEGIN CERTIFICATE')) throw new Error(`${path} holds no certificate.`)
  },
  LDAP_FILTER: async (filter) => (await import('./login/ldap.ts')).assertFilter(filter),
  AUTHENTICATION_METHOD: async (methods) => {
    if (list.parse(methods).includes('local')) await assertHashes()
  },
  ACCOUNTS_FILE: readAccounts,
  SITE_LOGO: readLogo,
}

function looks(values: NodeJS.ProcessEnv): Promise<unknown>[] {
  return Object.entries(readers).map(async ([setting, read]) => {
    const path = values[setting]
    if (!path) return
    await read(path, values).catch((cause: Error) => {
      const known = cause.message.startsWith(setting) ? '' : `${setting}: `
      throw new Error(`${known}${cause.message}`, { cause })
    })
  })
}
