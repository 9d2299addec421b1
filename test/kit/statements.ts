import pg from 'pg'
import { afterEach, beforeEach, vi } from 'vitest'

export interface SentStatement {
  name?: string
  text: string
  values?: unknown[]
}

/** Records every statement that this process sends during each test of a file; `taken` returns those since its last call. */
export function watchStatements() {
  let seen: SentStatement[] = []
  beforeEach(() => {
    seen = []
    const { query } = pg.Client.prototype
    vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
      const [first, values] = args
      if (typeof first === 'string') seen.push({ text: first, values: values as unknown[] })
      else seen.push({ ...(first as SentStatement) })
      return Reflect.apply(query, this, args)
    })
  })
  afterEach(() => vi.restoreAllMocks())
  return {
    take(): SentStatement[] {
      const statements = seen.filter(isRequestStatement)
      seen = []
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
  'renew-leases',
  'release-reservations',
  'remove-old-usage-counters',
]

/** Replicas ask now and then for jobs, and for the size of their indexes: in a schema that no request reads, or by its name. */
const JOBS = 'svc_jobs'

/** Returns true for a statement of a request, and false for one of the service itself. */
export const isRequestStatement = ({ name = '', text }: Pick<SentStatement, 'name' | 'text'>) =>
  !periodic.includes(name) && !text.includes(JOBS)
