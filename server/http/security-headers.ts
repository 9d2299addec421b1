import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance } from 'fastify'

const YEAR_SECONDS = 365 * 24 * 60 * 60

const headers = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'SAMEORIGIN',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
}

/** Sets strict security headers for responses that are no pages; pages set their own policy. */
export function addSecurityHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', ({ protocol }, reply, done) => {
    reply.headers(headers)
    // Browsers ignore this header over plain http; over TLS it applies to the host for a year.
    if (protocol === 'https') reply.header('strict-transport-security', `max-age=${YEAR_SECONDS}`)
    done()
  })
}

/** Response headers that scripts of other origins can read. */
const exposedHeaders = [
  'etag',
  'location',
  'x-request-id',
  'request-id',
  'retry-after',
  'www-authenticate',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'deprecation',
  'link',
  'ratelimit',
  'ratelimit-policy',
  'x-should-retry',
  'sunset',
  'allow',
  'x-answered-by',
  'x-ignored-parameters',
]

const PREFLIGHT_SECONDS = 600

const isApiPath = (url: string) => /^\/(api|trpc|health|v1|mcp)\b/.test(url)

/** Allows pages of these origins to call the API with a token. Credentials are off, because session cookies are for our own pages only. */
export async function registerCors(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  const allowed: FastifyCorsOptions = {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
    exposedHeaders,
    maxAge: PREFLIGHT_SECONDS,
    credentials: false,
  }
  await app.register(cors, {
    delegator: ({ url, headers }, decide) => {
      const isPreflight = headers['access-control-request-method'] !== undefined
      decide(null, isApiPath(url) ? { ...allowed, preflight: isPreflight } : { origin: false })
    },
  })
}
