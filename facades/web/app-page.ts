import type { FastifyInstance } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { createCaller } from '../../routers/index.ts'
import type { ContextResolver } from '../http/procedures.ts'
import { settingsSections } from './app/settings/sections.ts'
import { type PageLanguage, writeDocument, writePolicy } from './document.ts'
import { writeFramePolicy } from './frame-policy.ts'
import { html } from './html.ts'

/** The addresses of the front end; unknown addresses are not found. */
const admin = ['/admin', '/admin/:section', '/admin/:section/:id']
const assistants = ['/assistants', '/assistants/new', '/assistants/:handle/edit', '/assistants/:handle/history']
// The sealed part of the address of a source is longer than a parameter may be.
const sources = '/sources/*'
const subjects = ['/chat', '/chat/:slug', '/rooms', '/rooms/:slug', '/settings', sources, ...assistants, ...admin]
const addresses = [...subjects, ...settingsSections.map((section) => `/settings/${section}`)]

/** Additions to the policy of all pages: Trusted Types restrict code from strings to the addresses of two workers. */
export const appPolicy = {
  'img-src': "'self' data: blob:",
  // Blobs are opened PDF files.
  'frame-src': "'self' blob:",
  'worker-src': "'self'",
  'trusted-types': 'import-worker search-worker',
}

/** Serves the page of the front end to signed-in people. */
export function serveAppPage(
  app: FastifyInstance,
  resolveContext: ContextResolver,
  describeLanguage: (ctx: Context) => PageLanguage,
): void {
  const { appSource, site } = app
  const pagePolicy = writePolicy(appPolicy, appSource.relaxations)
  for (const address of addresses)
    app.get(address, async (request, reply) => {
      const ctx = await resolveContext(request, reply)
      const { view } = await createCaller(ctx).pages.visit({ page: 'chat' })
      reply.headers({ 'cache-control': 'no-store', 'content-security-policy': pagePolicy })
      if (view !== 'chat') return reply.redirect(`/${view}?redirectUri=${encodeURIComponent(request.url)}`)
      const page = { title: site.name, files: await appSource.entry('app'), body: html`<div id="app"></div>` }
      return reply.type('text/html; charset=utf-8').send(writeDocument(reply, describeLanguage(ctx), page))
    })
}

/**
 * Shows a page written by a model, which arrives as a message. Elements that could open a connection are removed, and
 * the policy forbids the rest.
 */
const previewScript = `addEventListener('message', ({ source, data }) => {
  if (source !== parent || typeof data !== 'string') return
  const { documentElement } = new DOMParser().parseFromString(data, 'text/html')
  for (const element of documentElement.querySelectorAll('script, link, meta, base, iframe, object, embed, form')) element.remove()
  document.documentElement.replaceWith(documentElement)
  parent.postMessage('shown', '*')
}, { once: true })`

const previewPolicy = writeFramePolicy(previewScript)

const previewPage = `<!doctype html>
<html><head><meta charset="utf-8"><title>Preview</title></head><body><script>${previewScript}</script></body></html>
`

/** Serves the page that shows HTML of a model in a sandboxed frame. */
export function servePreview(app: FastifyInstance): void {
  app.get('/chat-preview', (_, reply) =>
    reply
      .headers({ 'content-security-policy': previewPolicy, 'cache-control': 'no-cache' })
      .type('text/html; charset=utf-8')
      .send(previewPage),
  )
}
