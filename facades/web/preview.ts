import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'

/**
 * Shows the page that a model has written, which comes as a message. It loads nothing: what would open a connection beside the
 * policy is taken out, and the policy forbids the rest.
 */
const script = `addEventListener('message', ({ source, data }) => {
  if (source !== parent || typeof data !== 'string') return
  const { documentElement } = new DOMParser().parseFromString(data, 'text/html')
  for (const element of documentElement.querySelectorAll('script, link, meta, base, iframe, object, embed, form')) element.remove()
  document.documentElement.replaceWith(documentElement)
}, { once: true })`

/** Only the lines above run; styles and pictures may lie in the text itself. */
const policy = [
  "default-src 'none'",
  `script-src 'sha256-${hash('sha256', script, 'base64')}'`,
  "style-src 'unsafe-inline'",
  'img-src data:',
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
  'sandbox allow-scripts',
].join('; ')

const page = `<!doctype html>
<html><head><meta charset="utf-8"><title>Preview</title></head><body><script>${script}</script></body></html>
`

/** A page that shows what a model has written, in a frame of an origin without a name. */
export function servePreview(app: FastifyInstance): void {
  app.get('/chat-preview', (_, reply) =>
    reply
      .headers({ 'content-security-policy': policy, 'cache-control': 'no-cache' })
      .type('text/html; charset=utf-8')
      .send(page),
  )
}
