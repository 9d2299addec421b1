import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

const YEAR_SECONDS = 365 * 24 * 60 * 60

/** Tells browsers to do nothing with an answer but show it; a page replaces the policy by its own. */
export async function secureHeaders(app: FastifyInstance): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    strictTransportSecurity: false,
  })
  // A browser must ignore this header over plain http, and over TLS it binds the host for a year.
  app.addHook('onRequest', async ({ protocol }, reply) => {
    if (protocol === 'https') reply.header('strict-transport-security', `max-age=${YEAR_SECONDS}`)
  })
}
