import type { Salts } from './crypto/derive.ts'
import type { Translate } from './errors.ts'
import { element } from './form.ts'
import { api, ask, brand, resource } from './server.ts'

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
  configs: { security: { passkeyRestrictCharacters: boolean } }
}

export interface Booted {
  connection: Connection
  /** In the language of the page. */
  translate: Translate
}

/** Applies one front-end migration. */
type CarryOut = (data: Record<string, unknown> | null) => Promise<void>
const migrations = new Map<string, CarryOut>()

/** Loads connection and texts. If that fails, there are no texts, so it shows the message that the page contains. */
export async function boot(): Promise<Booted> {
  try {
    return await connect()
  } catch (error) {
    element('page-failed').hidden = false
    throw error
  }
}

/** Loads connection and configs together, then the texts in the connection's language; then applies migrations. */
async function connect(): Promise<Booted> {
  const [connection] = await Promise.all([resource<Connection>(`connections/${brand}`), ask('GET', `${api}/configs`)])
  const { labels } = await resource<{ labels: Record<string, string> }>(`translation-labels/${connection.locale}`)
  if ((connection.migrationsToApply ?? 0) > 0) await migrate()
  return { connection, translate: (key) => labels[key] ?? key }
}

interface Pending {
  data: { id: string; attributes: { data: Record<string, unknown> | null } }[]
}

/** A migration whose name is unknown here stays pending for a front end that knows it. */
async function migrate(): Promise<void> {
  const { data } = await ask<Pending>('GET', `${api}/migrations`)
  for (const { id, attributes } of data) {
    const carryOut = migrations.get(id)
    if (!carryOut) continue
    await carryOut(attributes.data)
    await ask('POST', `${api}/migrations/actions/apply`, { migrationName: id })
  }
}

/** Identifies the owner of the key in this browser; changes with the account and with its public key. */
export const ownerOf = ({ userinfo }: Connection) => `${userinfo?.id}-${userinfo?.hash}`
