import type { Salts } from './crypto/derive.ts'
import type { KeychainForm } from './crypto/wrapping.ts'
import type { Translate } from './errors.ts'
import { getElement } from './form.ts'
import { api, brand, readResource, sendRequest } from './server.ts'

export interface Connection {
  connectionType: 'internal' | 'internal_registering_user' | 'internal_authenticated'
  locale: string
  userinfo?: {
    id: number
    name: string
    username: string
    email: string
    hash: string
    avatar: string | null
    bio: string | null
  }
  migrationsToApply?: number
  salts?: Salts
  configs: { security: { passkeyRestrictCharacters: boolean; keychainForm: KeychainForm } }
}

interface Booted {
  connection: Connection
  /** Translates to the language of the page. */
  translate: Translate
}

/** Applies one front-end migration. */
type ApplyMigration = (data: Record<string, unknown> | null) => Promise<void>
const migrations = new Map<string, ApplyMigration>()

/** Loads connection and texts. If that fails, there are no texts, so it shows the message that the page contains. */
export async function boot(): Promise<Booted> {
  try {
    return await connect()
  } catch (error) {
    getElement('page-failed').hidden = false
    throw error
  }
}

/** Loads connection and configs together, then the texts in the connection's language; then applies migrations. */
async function connect(): Promise<Booted> {
  const [connection] = await Promise.all([
    readResource<Connection>(`connections/${brand}`),
    sendRequest('GET', `${api}/configs`),
  ])
  const { labels } = await readResource<{ labels: Record<string, string> }>(`translation-labels/${connection.locale}`)
  if ((connection.migrationsToApply ?? 0) > 0) await applyMigrations()
  return { connection, translate: (key) => labels[key] ?? key }
}

interface PendingMigrations {
  data: { id: string; attributes: { data: Record<string, unknown> | null } }[]
}

/** A migration whose name is unknown here stays pending for a front end that knows it. */
async function applyMigrations(): Promise<void> {
  const { data } = await sendRequest<PendingMigrations>('GET', `${api}/migrations`)
  for (const { id, attributes } of data) {
    const apply = migrations.get(id)
    if (!apply) continue
    await apply(attributes.data)
    await sendRequest('POST', `${api}/migrations/actions/apply`, { migrationName: id })
  }
}

/** Identifies the owner of the key in this browser; changes with the account and with its public key. */
export const getKeyOwner = ({ userinfo }: Connection) => `${userinfo?.id}-${userinfo?.hash}`
