import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { TestRunner } from 'vitest'
import type { Ability } from '../../entities/identity/access-token.ts'
import type { Role } from '../../entities/identity/user.ts'
import { readEnv } from '../../server/config/env.ts'
import { openLog } from '../../server/ops/log.ts'
import { type ServiceOptions, startService } from '../../server/service.ts'
import { cloneDatabase } from './database.ts'
import { makePublicKey } from './identity/people.ts'

/** Freezes a value and all of its members. */
function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
}

export interface TestUser {
  id: number
  username: string
  email: string
  name: string
  /** A bearer token with the usual abilities. */
  token: string
}

interface UserOptions {
  username?: string
  role?: Role
  abilities?: Ability[]
  /** True if they have keys, and so are users in the browser, too. */
  keys?: boolean
}

/**
 * Starts the service in this process, on a port and a database of its own. Settings are those of the environment. Periodic
 * tasks run only where `runsTasks` says so: their statements and changes would come between those of a test.
 */
export async function startApp(
  settings: Record<string, string> = {},
  { appSource, runsTasks = false }: Pick<ServiceOptions, 'appSource'> & { runsTasks?: boolean } = {},
) {
  const database = settings['DATABASE_URL'] ? undefined : await cloneDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'svc-app-'))
  const lines: string[] = []
  const sink = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const env = readEnv({
    DATA_DIR: folder,
    DATABASE_URL: database?.url,
    DATABASE_POOL: '5',
    PORT: '0',
    // Timeouts are long, as tests fill tables by single statements on a busy machine.
    DATABASE_STATEMENT_TIMEOUT: '2m',
    DATABASE_LOCK_TIMEOUT: '1m',
    DATABASE_IDLE_TIMEOUT: '30s',
    // The process that reads a file has a low priority, and hardly runs beside busy ones.
    FILE_TEXT_WAIT: '5m',
    ALLOW_USER_TOKEN_CREATION: 'true',
    // Tests count the requests of their providers.
    AI_CHAT_TITLES: 'false',
    // Races have one person ask more at once than an agent does.
    AI_CALLS_PER_PERSON: '1000',
    ...settings,
  })
  const { log, telemetry } = await openLog(env, sink)
  // A change of a shared object throws.
  const service = await startService({
    env,
    log,
    telemetry,
    temporaryDir: folder,
    beforeSharing: deepFreeze,
    firstRunMs: runsTasks ? undefined : 3_600_000,
    appSource,
  })
  let counter = 0

  /** CI repeats a failed test once: whoever its first try added makes way for the same name. */
  async function renamePersonOfFirstTry(username: string): Promise<void> {
    if (!TestRunner.getCurrentTest()?.result?.retryCount) return
    const text = `update users set username = id || '-' || username, email = id || '-' || email, subject = null where username = $1`
    await service.services.sql({ name: '', text }, [username])
  }

  async function user({
    username = `user${++counter}`,
    role,
    abilities,
    keys = true,
  }: UserOptions = {}): Promise<TestUser> {
    const person = { username, email: `${username}@example.org`, name: `The ${username}` }
    await renamePersonOfFirstTry(username)
    const { id } = await service.host.admin.addUser(person)
    if (role) await service.host.admin.setRole({ user: { id }, role })
    if (keys)
      await service.services.sql({ name: '', text: 'update users set public_key = $1 where id = $2' }, [
        makePublicKey(username),
        id,
      ])
    const { token } = await service.host.tokens.createFor({
      user: { id },
      name: 'test',
      ...(abilities && { abilities }),
    })
    return { id, ...person, token }
  }

  return {
    ...service,
    env,
    folder,
    /** Everything that was logged, as the lines that were written. */
    log: lines,
    user,
    renamePersonOfFirstTry,
    /** Sends a request; a body that is not text goes as JSON. */
    send: (method: string, path: string, options?: SendOptions) => send(service.url, method, path, options),
    /** Rows of the database, by a statement. */
    rows: async <Row>(text: string, values: unknown[] = []): Promise<Row[]> =>
      service.services.sql<Row>({ name: '', text }, values),
    /** Changes the catalogue by a statement, and increments its version like the service. */
    async changeCatalogue(text: string): Promise<void> {
      await service.services.sql({ name: '', text })
      const raise = `insert into change_streams as s (stream, seq) values ('all', 1) on conflict (stream) do update set seq = s.seq + 1`
      await service.services.sql({ name: '', text: raise })
    },
    async [Symbol.asyncDispose]() {
      await service.stop()
      await database?.[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export type TestApp = Awaited<ReturnType<typeof startApp>>

export interface SendOptions {
  token?: string | undefined
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** Sends a request to a service, wherever it runs. */
export async function send(url: string, method: string, path: string, options: SendOptions = {}) {
  const { token, body, headers, signal } = options
  return fetch(url + path, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  })
}
