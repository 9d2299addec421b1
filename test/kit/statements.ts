import { AsyncLocalStorage } from 'node:async_hooks'
import { Server } from 'node:http'
import pg from 'pg'
import { afterEach, beforeEach, vi } from 'vitest'

export interface SentStatement {
  name?: string
  text: string
  values?: unknown[]
}

/**
 * Records every statement that this process sends during each test of a file. `take` returns those since its last call,
 * without what earlier requests still had to write, such as their audit entries.
 */
export function watchStatements() {
  const currentRequest = new AsyncLocalStorage<number>()
  let requests = 0
  let taken = 0
  let seen: (SentStatement & { request: number | undefined })[] = []
  beforeEach(() => {
    seen = []
    taken = requests
    const { emit } = Server.prototype
    vi.spyOn(Server.prototype, 'emit').mockImplementation(function (this: Server, ...args: unknown[]) {
      const emitEvent = () => Reflect.apply(emit, this, args)
      return args[0] === 'request' || args[0] === 'upgrade' ? currentRequest.run(++requests, emitEvent) : emitEvent()
    })
    const { query } = pg.Client.prototype
    vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
      const [first, values] = args
      const statement =
        typeof first === 'string' ? { text: first, values: values as unknown[] } : (first as SentStatement)
      seen.push({ ...statement, request: currentRequest.getStore() })
      return Reflect.apply(query, this, args)
    })
  })
  afterEach(() => vi.restoreAllMocks())
  return {
    take(): SentStatement[] {
      const statements = seen.filter(
        ({ request, ...statement }) => (request === undefined || request > taken) && isRequestStatement(statement),
      )
      seen = []
      taken = requests
      return statements
    },
  }
}

/** Statements that a service runs every few seconds without requests. */
const periodic = [
  'find-streams-ahead',
  'find-ended-credentials',
  'find-lost-disclosure',
  'touch-tokens',
  'list-outages',
  'list-expired-reservations',
  'list-unclaimed',
  'renew-leases',
  'release-reservations',
  'remove-old-usage-counters',
]

/** Replicas ask now and then for jobs, and for the size of their indexes: in a schema that no request reads, or by its name. */
const JOBS = 'svc_jobs'

/** Returns true for a statement of a request, and false for one of the service itself. */
export const isRequestStatement = ({ name = '', text }: Pick<SentStatement, 'name' | 'text'>) =>
  !periodic.includes(name) && !text.includes(JOBS)
