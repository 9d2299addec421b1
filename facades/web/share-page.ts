import type { FastifyInstance } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { createCaller } from '../../routers/index.ts'
import { toFailure } from '../http/failure.ts'
import type { ContextResolver } from '../http/procedures.ts'
import { sendFile } from '../http/send-file.ts'
import { appPolicy } from './app-page.ts'
import { type PageLanguage, writeDocument, writePolicy } from './document.ts'
import { html } from './html.ts'

interface LinkRequest {
  Params: { id: string }
}

/**
 * Serves the page behind a link to a copy of a conversation, and the sealed copy itself. The key stands in the fragment of the
 * address, which no browser sends.
 */
export function serveSharePage(
  app: FastifyInstance,
  resolveContext: ContextResolver,
  describeLanguage: (ctx: Context) => PageLanguage,
): void {
  const { appSource, site } = app
  const policy = writePolicy(appPolicy, appSource.relaxations)
  const headers = { 'cache-control': 'no-store', 'x-robots-tag': 'noindex, nofollow' }
  app.get<LinkRequest>('/s/:id', async (request, reply) => {
    const ctx = await resolveContext(request, reply)
    const { id } = request.params
    reply.headers(headers)
    const isSignedIn = ctx.callerContext.current.type === 'user'
    const status = await findStatus(ctx, id)
    const [isReadable, isLimited] = [status === 200, status === 429]
    const language = describeLanguage(ctx)
    const { translate } = language
    const body = html`<div id="page" data-page="${JSON.stringify({ id, isReadable, isLimited, isSignedIn })}"><noscript><p>${translate('page.shared.noScript')}</p></noscript></div>
<p id="page-failed" role="alert" hidden>${translate('page.error')}</p>`
    const title = `${translate('page.shared.title')} · ${site.name}`
    reply.code(status).header('content-security-policy', policy).type('text/html; charset=utf-8')
    return reply.send(writeDocument(reply, language, { title, files: await appSource.entry('share'), body }))
  })
  app.get<LinkRequest>('/s/:id/copy', async (request, reply) => {
    reply.headers(headers)
    const { id } = request.params
    const copy = await createCaller(await resolveContext(request, reply)).sharedLinks.copy({ id })
    const body = sendFile(request, reply, copy)
    // Another replica may have ended the link, so that no copy of it may be used again.
    reply.headers(headers)
    return body
  })
}

/**
 * Resolves with the status of the page: 404 for a link that is not there, or not for the caller. Whoever has used up their
 * looks gets the page, too, which leads on: a guest may be counted alone after a sign-in, a person tries again later.
 */
async function findStatus(ctx: Context, id: string): Promise<200 | 404 | 429> {
  try {
    await createCaller(ctx).sharedLinks.visit({ id })
    return 200
  } catch (error) {
    const { code } = toFailure(error)
    if (code === 'not_found') return 404
    if (code === 'too_many_requests') return 429
    throw error
  }
}
