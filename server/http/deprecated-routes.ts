import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import type { Sql } from '../../entities/sql/statement.ts'
import { countDeprecatedCalls } from '../../entities/system/deprecated-call.sql.ts'
import { type Deprecation, deprecations } from '../../facades/http/deprecations.ts'
import { Batch } from '../stores/write-behind.ts'

interface DeprecatedRoutesOptions {
  /** When they go, if that is settled. */
  sunset: Date | undefined
  sql: Sql
  log: FastifyBaseLogger
}

interface Call {
  route: string
  user: number
  token: number | null
}

const GATHER_MS = 1000

/** Has deprecated routes say so in every answer, and counts behind the answers who calls them. For routes registered later. */
export function markDeprecatedRoutes(app: FastifyInstance, { sunset, sql, log }: DeprecatedRoutesOptions): void {
  const known = deprecations(app.names.basePath, sunset)
  const batch = new Batch<Call>({
    name: 'deprecated calls',
    write: (calls) =>
      sql(countDeprecatedCalls, [calls.map((it) => it.route), calls.map((it) => it.user), calls.map((it) => it.token)]),
    log,
    gather: GATHER_MS,
    most: 10_000,
  })
  app.addHook('onRoute', (route) => {
    // A HEAD is answered as its GET.
    const method = route.method === 'HEAD' ? 'GET' : route.method
    const deprecation = known.get(`${method} ${route.url}`)
    if (deprecation) route.config = { ...route.config, deprecation } as object
  })
  app.addHook('onRequest', (request, reply, done) => {
    const deprecation = deprecationOf(request)
    if (deprecation) reply.headers(deprecation.headers)
    done()
  })
  app.addHook('onResponse', (request, _, done) => {
    const route = deprecationOf(request)?.name
    const caller = route && request.context?.callerContext.current
    if (caller && caller.type === 'user') batch.add({ route, user: caller.person.id, token: caller.token?.id ?? null })
    done()
  })
  app.addHook('onClose', () => batch.flush())
}

const deprecationOf = ({ routeOptions }: FastifyRequest) =>
  (routeOptions.config as { deprecation?: Deprecation }).deprecation
