import { randomUUID } from 'node:crypto'
import fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import type { BodyLimits } from '../../facades/http/body-limits.ts'
import type { Env } from '../config/settings.ts'

/** Creates a server without routes, which does not listen yet. */
export function createServer(env: Env, log: FastifyBaseLogger, bodyLimits: BodyLimits) {
  return fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: () => randomUUID(),
    bodyLimit: bodyLimits.form,
    trustProxy: env.TRUSTED_PROXIES.length > 0 ? env.TRUSTED_PROXIES : false,
    forceCloseConnections: 'idle',
    // A tRPC batch has the names of all its procedures in one parameter; Node's header limit is below this length.
    routerOptions: { maxParamLength: 32_768, ignoreTrailingSlash: true },
    rewriteUrl: ({ url = '/' }) => escapeUndecodable(url),
    http: { shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket' },
    // The limit ends connections of very slow senders.
    requestTimeout: Math.max(120_000, env.UPLOAD_TIMEOUT),
    schemaController: { compilersFactory: { buildValidator: rejectSchemas, buildSerializer: rejectSchemas } },
  })
}

/** Rejects route schemas: procedures validate input, so the two libraries that compile schemas are not loaded. */
function rejectSchemas(): never {
  throw new Error('A route has a schema: declare its input at a procedure instead.')
}

/** Escapes a path that cannot be decoded, so that it is taken literally: nothing exists there, and its facade responds with 404. */
function escapeUndecodable(url: string): string {
  if (!url.includes('%')) return url
  const [path = '', search] = url.split(/(\?.*)/s)
  try {
    decodeURIComponent(path)
    return url
  } catch {
    return `${path.replaceAll('%', '%25')}${search ?? ''}`
  }
}
