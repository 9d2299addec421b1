import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Labels } from '../../routers/ports/locales.ts'
import { html } from './html.ts'
import { sayIn } from './layout.ts'
import { sendPage } from './send-page.ts'

/** Whether a browser opens this address as a page. Programs and the scripts of our pages accept no HTML. */
export const isNavigation = ({ url, headers }: FastifyRequest): boolean =>
  headers.accept?.includes('text/html') === true && !/^\/(api|trpc)\//.test(url)

interface Language {
  locale: string
  labels: Labels
}

/** Tells a person that the request failed, what to do now, and the id by which the log knows the request. */
export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, status: number, language: Language) {
  const say = sayIn(language.labels)
  const kind = kindOf(status)
  const mayRepeat = status >= 500 && request.method === 'GET'
  const body = html`
<p>${say(`page.${kind}.text`)}</p>
<p class="actions"><a class="button" href="/">${say('page.toStart')}</a>
${mayRepeat && html`<a class="button quiet" href="">${say('page.again')}</a>`}</p>
<p class="hint">${say('page.requestId')}: <code>${request.id}</code></p>`
  return sendPage(reply.code(status), say, language.locale, { title: say(`page.${kind}.title`), body, signedIn: false })
}

const kinds: Record<number, string> = { 403: 'forbidden', 404: 'notFound', 503: 'unavailable' }

const kindOf = (status: number) => kinds[status] ?? (status >= 500 ? 'failed' : 'refused')
