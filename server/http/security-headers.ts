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

/** Sets strict security headers, with which a browser can only display an answer; pages set a policy of their own. */
export function secureHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', ({ protocol }, reply, done) => {
    reply.headers(headers)
    // A browser must ignore this header over plain http, and over TLS it binds the host for a year.
    if (protocol === 'https') reply.header('strict-transport-security', `max-age=${YEAR_SECONDS}`)
    done()
  })
}
