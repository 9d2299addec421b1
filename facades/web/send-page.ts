import type { FastifyReply } from 'fastify'
import { layout, type Page, type Translate } from './layout.ts'

/** Everything comes from here, and nothing runs that stands in the page. */
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
  return reply.type('text/html; charset=utf-8').send(layout(translate, locale, page))
}
