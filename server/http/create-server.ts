import { randomUUID } from 'node:crypto'
import fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import type { BodyLimits } from '../../facades/http/body-limits.ts'
import type { Env } from '../config/settings.ts'
import { readable } from './request-url.ts'

/** A server without routes, which does not listen yet. */
export function createServer(env: Env, log: FastifyBaseLogger, bodyLimits: BodyLimits) {
  return fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: () => randomUUID(),
    bodyLimit: bodyLimits.form,
    trustProxy: env.TRUSTED_PROXIES.length > 0 ? env.TRUSTED_PROXIES : false,
    forceCloseConnections: 'idle',
    // The names of all procedures in a batch are one parameter, and headers end before that.
    routerOptions: { maxParamLength: 32_768, ignoreTrailingSlash: true },
    rewriteUrl: ({ url = '/' }) => readable(url),
    http: { shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket' },
    // A slow sender must not hold a connection for ever.
    requestTimeout: Math.max(120_000, env.UPLOAD_TIMEOUT),
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
  })
}

/** Procedures judge what comes in, so no route has a schema, and the two libraries that would compile it are not loaded. */
function noSchemas(): never {
  throw new Error('A route has a schema: declare its input at a procedure instead.')
}
