import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Labels } from '../../routers/ports/locales.ts'
import type { Failure } from '../http/failure.ts'
import { html } from './html.ts'
import { translator } from './layout.ts'
import { sendPage } from './send-page.ts'

interface Language {
  locale: string
  labels: Labels
}

/** Says that the request failed, what to do now, and the request id that is in the log. */
export function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, code }: Pick<Failure, 'status' | 'code'>,
  language: Language,
) {
  const translate = translator(language.labels)
  const kind = byCode[code] ?? kindOf(status)
  const mayRepeat = status >= 500 && request.method === 'GET'
  const body = html`
<p>${translate(`page.${kind}.text`)}</p>
<p class="actions"><a class="button" href="/">${translate('page.toStart')}</a>
${mayRepeat && html`<a class="button quiet" href="">${translate('page.again')}</a>`}</p>
<p class="hint">${translate('page.requestId')}: <code>${request.id}</code></p>`
  return sendPage(reply.code(status), translate, language.locale, {
    title: translate(`page.${kind}.title`),
    body,
    signedIn: false,
  })
}

const byCode: Partial<Record<Failure['code'], string>> = {
  connect_request_invalid: 'outdated',
  external_apps_off: 'appsOff',
}
const kinds: Record<number, string> = { 403: 'forbidden', 404: 'notFound', 503: 'unavailable' }

const kindOf = (status: number) => kinds[status] ?? (status >= 500 ? 'failed' : 'refused')
