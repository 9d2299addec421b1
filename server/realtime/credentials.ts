import DataLoader from 'dataloader'
import { findEndedCredentials } from '../../entities/identity/credential.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { codes } from '../../facades/realtime/close-codes.ts'
import type { Connection } from './connection.ts'

/** How often it is asked which sessions and tokens have ended, in milliseconds, whoever ended them. */
const INTERVAL_MS = 600

const SIGNED_OUT = 'You are signed out.'

/** Credentials that one statement asks about. */
const MAX_BATCH = 5000

interface CredentialsOptions {
  sql: Sql
  /** How long a session lives after its last use, in milliseconds. */
  sessionLifetime: number
}

/** `session:{hash}` and `token:{id}` under which connections are subscribed. */
export class Credentials {
  readonly #options: CredentialsOptions
  readonly #connections = new Map<string, Set<Connection>>()
  readonly #loader: DataLoader<string, boolean>
  readonly #asked = new Map<string, Promise<boolean>>()
  readonly #timer: NodeJS.Timeout
  #next = 0
  #isAsking = false

  constructor(options: CredentialsOptions) {
    this.#options = options
    this.#loader = new DataLoader<string, boolean>(
      async (keys) => {
        const ended = await this.#findEnded(keys)
        return keys.map((key) => !ended.has(key))
      },
      { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: setImmediate },
    )
    this.#timer = setInterval(() => void this.#ask(), INTERVAL_MS).unref()
  }

  /** Whether it still holds; it is watched from then on. */
  async begin(credential: string, connection: Connection): Promise<boolean> {
    if (connection.credentials.has(credential)) return true
    if (!(await this.#holds(credential)) || !connection.isOpen) return false
    connection.credentials.add(credential)
    const connections = this.#connections.get(credential) ?? new Set()
    this.#connections.set(credential, connections.add(connection))
    return true
  }

  /** All channels of a connection are asked for at once. */
  #holds(credential: string): Promise<boolean> {
    const known = this.#asked.get(credential)
    if (known) return known
    const asked = this.#loader.load(credential).finally(() => this.#asked.delete(credential))
    this.#asked.set(credential, asked)
    return asked
  }

  forget(connection: Connection): void {
    for (const credential of connection.credentials) {
      const connections = this.#connections.get(credential)
      connections?.delete(connection)
      if (connections?.size === 0) this.#connections.delete(credential)
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    const all = [...this.#connections.keys()]
    if (this.#next >= all.length) this.#next = 0
    const some = all.slice(this.#next, this.#next + MAX_BATCH)
    this.#next += MAX_BATCH
    const ended = some.length > 0 ? await this.#findEnded(some).catch(() => []) : []
    for (const credential of ended) {
      for (const connection of this.#connections.get(credential) ?? []) end(credential, connection)
      this.#connections.delete(credential)
    }
    this.#isAsking = false
  }

  async #findEnded(keys: readonly string[]): Promise<Set<string>> {
    const of = (kind: string) => keys.flatMap((key) => (key.startsWith(kind) ? key.slice(kind.length) : []))
    const since = new Date(Date.now() - this.#options.sessionLifetime)
    const values = [of('session:'), since, of('token:')]
    const ended = await this.#options.sql(findEndedCredentials, values)
    return new Set(ended.map(({ session, token }) => (session === null ? `token:${token}` : `session:${session}`)))
  }
}

/** Ends what was signed by it, and the connection where nothing else was. */
function end(credential: string, connection: Connection) {
  connection.credentials.delete(credential)
  if (connection.credentials.size === 0) return connection.close(codes.unauthorized, SIGNED_OUT)
  for (const subscription of connection.subscriptions.values())
    if (subscription?.credential === credential) subscription.channel.end(subscription, 401, SIGNED_OUT)
}
