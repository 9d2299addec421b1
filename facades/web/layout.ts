import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'
import { describedLocales, type Labels } from '../../routers/ports/locales.ts'
import type { Failure } from '../http/failure.ts'
import {
  createTranslator,
  listSiteLinks,
  type PageLanguage,
  type Translate,
  writeDocument,
  writePolicy,
} from './document.ts'
import { type Html, html } from './html.ts'
import type { SiteView } from './site.ts'

export interface Page {
  title: string
  /** The content, or the data from which the script of the pages makes it. */
  content: Html | { view: string }
  /** True if somebody is signed in. */
  isSignedIn: boolean
}

/** Sends a page outside the front end, in the frame that all of them have. */
export async function sendPage(reply: FastifyReply, language: PageLanguage, page: Page): Promise<FastifyReply> {
  const { site, appSource } = reply.server
  const files = await appSource.entry('signIn').catch((error: unknown) => {
    if ('view' in page.content) throw error
    // A page without a script is worth reading without its style, too.
    return { script: '', styles: [], imports: [] }
  })
  return reply
    .headers({ 'cache-control': 'no-store', 'content-security-policy': writePolicy(appSource.relaxations) })
    .type('text/html; charset=utf-8')
    .send(
      writeDocument(reply, language, {
        title: `${page.title} · ${site.name}`,
        files,
        body: writeFrame(reply, language, page),
      }),
    )
}

function writeFrame(
  { server: { site }, request }: FastifyReply,
  { translate, locale }: PageLanguage,
  { title, content, isSignedIn }: Page,
): Html {
  return html`<div class="entrance">
<a class="skip" href="#main">${translate('page.skip')}</a>
<header><a class="brand" href="/">${site.logo !== undefined && html`<img alt="" height="32" src="${site.logo}"> `}${site.name}</a>${isSignedIn && html`<a href="/logout?ask">${translate('page.signOut')}</a>`}</header>
<main id="main">
<h1>${title}</h1>
${'view' in content ? writeRoot(translate, content) : content}
</main>
<footer>${languages(translate, locale, request)}${siteNav(translate, site)}</footer>
</div>`
}

/** Renders the element whose content the script makes, with what is said without the script. */
const writeRoot = (translate: Translate, data: { view: string }): Html =>
  html`<div id="page" data-page="${JSON.stringify(data)}"><noscript><p class="failure-notice">${translate(data.view === 'authorize' ? 'page.noScript.authorize' : 'page.noScript')}</p></noscript></div>
<p id="page-failed" class="failure-notice" role="alert" hidden>${translate('page.error')}</p>`

function siteNav(translate: Translate, site: SiteView): Html | false {
  const links = listSiteLinks(translate, site)
  return (
    links.length > 0 &&
    html`<nav class="site-links" aria-label="${translate('page.site')}">
${links.map(({ text, address }) => html`<a href="${address}" rel="noreferrer">${translate(text)}</a>`)}
</nav>`
  )
}

/** Renders the choice of languages by their own names: a form that needs no script. */
const languages = (
  translate: Translate,
  current: string,
  request: FastifyRequest,
): Html => html`<nav aria-label="${translate('page.language')}">
<form class="languages" method="post" action="/req/changeLanguage">
<input type="hidden" name="redirectUri" value="${writeReturnPath(request)}">
${describedLocales.map(({ lang, nameInLanguage }) =>
  lang === current
    ? html`<span aria-current="true">${nameInLanguage}</span>`
    : html`<button name="inputLang" lang="${lang.slice(0, 2)}" value="${lang}">${nameInLanguage}</button>`,
)}
</form>
</nav>`

/** Returns the address of the page. A language in it would override the choice. */
function writeReturnPath({ method, url }: FastifyRequest): string {
  const [path = '/', query] = url.split('?', 2)
  if (!['GET', 'HEAD'].includes(method)) return '/'
  const search = new URLSearchParams(query)
  for (const name of ['lang', 'locale']) search.delete(name)
  return search.size > 0 ? `${path}?${search}` : path
}

interface Language {
  locale: string
  labels: Labels
}

/** Sends an error page with the next steps and the request id. */
export async function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, code, message, error }: Failure,
  { locale, labels }: Language,
): Promise<FastifyReply> {
  const translate = createTranslator(labels)
  const kind = kindsByCode[code] ?? chooseKind(status)
  const canRepeat = status >= 500 && request.method === 'GET'
  const { redirectTo, target = '' } = error instanceof Problem ? error.meta : {}
  const content = html`
<p>${translate(`page.${kind}.text`)}</p>
${reasonedCodes.has(code) && html`<p class="hint">${translate('page.reason')} <span lang="en">${message}</span></p>`}
${redirectTo !== undefined && html`<p>${translate('page.programRefused.back')}</p>`}
<p class="steps"><a href="/">${translate('page.toStart')}</a>${redirectTo !== undefined && html`<a href="${redirectTo}" rel="noreferrer">${translate('page.programRefused.goTo').replace(':target', () => target)}</a>`}${canRepeat && html`<a href="">${translate('page.again')}</a>`}</p>
<p class="hint">${translate('page.requestId')}: <code>${request.id}</code></p>`
  const page = { title: translate(`page.${kind}.title`), content, isSignedIn: false }
  return sendPage(reply.code(status), { locale, translate }, page)
}

/** Codes whose reason helps those who develop a program; it is in English. */
const reasonedCodes = new Set<Failure['code']>(['authorization_invalid'])

const kindsByCode: Partial<Record<Failure['code'], string>> = {
  connect_request_invalid: 'outdated',
  external_apps_off: 'appsOff',
  authorization_invalid: 'programRefused',
  token_creation_off: 'programsOff',
}
const kindsByStatus: Record<number, string> = { 403: 'forbidden', 404: 'notFound', 503: 'unavailable' }

const chooseKind = (status: number) => kindsByStatus[status] ?? (status >= 500 ? 'failed' : 'refused')
