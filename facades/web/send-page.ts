import type { FastifyReply } from 'fastify'
import { layout, type Page, type Translate } from './layout.ts'
import { colorSchemeOf } from './scheme.ts'

/** Content-Security-Policy: everything from this origin, and no inline script. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function sendPage(reply: FastifyReply, translate: Translate, locale: string, page: Page): FastifyReply {
  reply.header('cache-control', 'no-store').header('content-security-policy', policy)
  return reply
    .type('text/html; charset=utf-8')
    .send(
      layout(
        { names: reply.server.names, site: reply.server.site, scheme: colorSchemeOf(reply.request), translate, locale },
        page,
      ),
    )
}
