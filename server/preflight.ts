import { access, readFile } from 'node:fs/promises'
import { assertPicture } from '../routers/identity/pictures/pictures.ts'
import { readModelConfig } from './config/ai-config.ts'
import { readExtApps, readLimits } from './config/config-file.ts'
import { readEnv, readProcessEnv } from './config/env.ts'
import { loadExtensions } from './config/extensions.ts'
import { loadFrontendMigrations } from './config/frontend-migrations.ts'
import { loadLabels } from './config/labels.ts'
import { list } from './config/settings/setting-types.ts'
import type { Env } from './config/settings.ts'
import { readLogo } from './config/site.ts'
import { assertHashingWorks, readAccounts } from './login/accounts.ts'

/**
 * Reads the settings and checks the files and folders that they name; throws one list of all problems before the service
 * creates anything.
 *
 * The folder ANNOUNCEMENTS is not checked: a command creates it, and the database says which texts it must have. Missing
 * texts are logged after the start.
 */
export async function readValidatedEnv(source?: NodeJS.ProcessEnv): Promise<Env> {
  const values = source ?? readProcessEnv().values
  const outcomes = await Promise.allSettled([(async () => readEnv(source))(), ...checkReferencedFiles(values)])
  const problems = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []))
  const [settings] = outcomes
  if (problems.length > 0 || settings.status === 'rejected')
    throw new Error(problems.map(({ message }) => message).join('\n'))
  return settings.value
}

/** Checks by setting: each reads the file or folder that the setting names, or has a library validate the value. */
const checks: Record<string, (value: string, values: NodeJS.ProcessEnv) => Promise<unknown>> = {
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
    if (list.parse(methods).includes('local')) await assertHashingWorks()
  },
  ACCOUNTS_FILE: readAccounts,
  SITE_LOGO: readLogo,
}

function checkReferencedFiles(values: NodeJS.ProcessEnv): Promise<unknown>[] {
  return Object.entries(checks).map(async ([setting, check]) => {
    const value = values[setting]
    if (!value) return
    await check(value, values).catch((cause: Error) => {
      const prefix = cause.message.startsWith(setting) ? '' : `${setting}: `
      throw new Error(`${prefix}${cause.message}`, { cause })
    })
  })
}
