import type { FastifyReply, FastifyRequest } from 'fastify'
import { describedLocales, type Labels } from '../../routers/ports/locales.ts'
import type { Failure } from '../http/failure.ts'
import type { WireNames } from '../http/names.ts'
import { type Html, html } from './html.ts'
import type { SiteView } from './site.ts'

/** Name of the cookie with the chosen colour scheme. */
export const SCHEME_COOKIE = 'scheme'

/** The colour scheme of a page; both are supported without a choice. */
interface ColorScheme {
  chosen: 'light' | 'dark' | undefined
  supported: string
}

export function readColorScheme({ cookies }: FastifyRequest): ColorScheme {
  const cookie = cookies?.[SCHEME_COOKIE]
  const chosen = cookie === 'light' || cookie === 'dark' ? cookie : undefined
  return { chosen, supported: chosen ?? 'light dark' }
}

/** Translates a key. */
export type Translate = (key: string) => string

export const createTranslator =
  (labels: Labels): Translate =>
  (key) =>
    labels[key] ?? key

/** The operator's privacy notice: a label of HTML, on a page of its own. */
export const dataProtection = {
  path: '/dataprotection',
  label: '_DataProtection',
  exists: (translate: Translate): boolean => translate('_DataProtection') !== '_DataProtection',
}

export interface Page {
  title: string
  /** The browser module that the page loads. */
  module?: string
  body: Html
  /** True if somebody is signed in. */
  isSignedIn: boolean
}

interface Surroundings {
  names: WireNames
  site: SiteView
  scheme: ColorScheme
  translate: Translate
  locale: string
}

/** Renders the frame of every page. Scripts and styles are always separate files. */
function layout(
  { names: { brand, pageApi }, site, scheme, translate, locale }: Surroundings,
  { title, module, body, isSignedIn }: Page,
): string {
  const document = html`<!doctype html>
<html lang="${locale.slice(0, 2)}" data-brand="${brand}" data-api="${pageApi}"${schemeAttribute(scheme)}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${scheme.supported}">
<title>${title} · ${site.name}</title>
<link rel="stylesheet" href="/assets/style.css">
${siteFiles(site)}
<script type="module" src="/assets/language.js"></script>
${module !== undefined && html`<script type="module" src="/assets/${module}.js"></script>`}
</head>
<body>
<a class="skip" href="#main">${translate('page.skip')}</a>
<header><a class="brand" href="/">${site.logo !== undefined && html`<img alt="" height="32" src="${site.logo}"> `}${site.name}</a>${isSignedIn && html`<a href="/logout?ask">${translate('page.signOut')}</a>`}</header>
<main id="main">
<h1>${title}</h1>
<p id="page-failed" class="notice wrong" role="alert" hidden>${translate('page.error')}</p>
<noscript><p class="notice wrong">${translate('page.noScript')}</p></noscript>
${body}
</main>
<footer>${languages(translate, locale)}${siteNav(translate, site)}</footer>
</body>
</html>
`
  return document.text
}

export const schemeAttribute = ({ chosen }: ColorScheme) => chosen !== undefined && html` data-scheme="${chosen}"`

/** Renders the colours and the icon of the site for the head. */
export const siteFiles = ({
  style,
  logo,
}: SiteView): Html => html`${style !== undefined && html`<link rel="stylesheet" href="${style}">`}
<link rel="icon" href="${logo ?? 'data:,'}">`

/** Lists the links about this installation by label; the operator's own privacy notice is the default. */
export function listSiteLinks(translate: Translate, { links }: SiteView): { text: string; address: string }[] {
  const own = dataProtection.exists(translate) ? dataProtection.path : undefined
  return [
    { text: 'page.site.help', address: links.help },
    { text: 'page.dataProtection', address: links.privacy ?? own },
    { text: 'page.site.imprint', address: links.imprint },
  ].flatMap(({ text, address }) => (address === undefined ? [] : { text, address }))
}

function siteNav(translate: Translate, site: SiteView): Html | false {
  const links = listSiteLinks(translate, site)
  return (
    links.length > 0 &&
    html`<nav class="site-links" aria-label="${translate('page.site')}">
${links.map(({ text, address }) => html`<a href="${address}" rel="noreferrer">${translate(text)}</a>`)}
</nav>`
  )
}

/** Renders the choice of languages by their own names; a script stores the choice. */
const languages = (
  translate: Translate,
  locale: string,
): Html => html`<nav id="languages" aria-label="${translate('page.language')}">
${describedLocales.map(({ lang, nameInLanguage }) =>
  lang === locale
    ? html`<span aria-current="true">${nameInLanguage}</span>`
    : html`<button disabled type="button" class="plain" lang="${lang.slice(0, 2)}" value="${lang}">${nameInLanguage}</button>`,
)}
</nav>`

interface Field {
  id: string
  label: string
  type?: 'text' | 'password'
  autocomplete: string
  hint?: string
  /** Forbids pasting; the text is shown at an attempt. */
  typed?: string | undefined
  max?: number
}

export function field({ id, label, type = 'text', autocomplete, hint, typed, max = 200 }: Field): Html {
  const hints = Object.entries({ hint, typed }).filter(([, text]) => text !== undefined)
  const describedBy = hints.map(([name]) => `${id}-${name}`).join(' ')
  return html`<label for="${id}">${label}</label>
<input id="${id}" name="${id}" type="${type}" autocomplete="${autocomplete}" maxlength="${max}" required${describedBy !== '' && html` aria-describedby="${describedBy}"`}${typed !== undefined && html` data-typed="${typed}"`}>
${hints.map(([name, text]) => html`<p class="hint" id="${id}-${name}">${text}</p>`)}`
}

/** Returns the warning of a passkey field if pasting is forbidden. */
export const getPasteWarning = (translate: Translate, canPaste: boolean) =>
  canPaste ? undefined : translate('page.handshake.noPaste')

/** The status line of a form. */
export const outcome = html`<p class="outcome" role="status"></p>`

/** Renders the output of a secret, with a copy button. */
export const secret = (translate: Translate, id: string): Html => html`<div class="secret" hidden>
<output id="${id}"></output>
<button disabled type="button" class="quiet" data-copies="${id}">${translate('page.copy')}</button>
${outcome}
</div>`

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
  return reply.type('text/html; charset=utf-8').send(
    layout(
      {
        names: reply.server.names,
        site: reply.server.site,
        scheme: readColorScheme(reply.request),
        translate,
        locale,
      },
      page,
    ),
  )
}

interface Language {
  locale: string
  labels: Labels
}

/** Sends an error page with the next steps and the request id. */
export function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, code }: Pick<Failure, 'status' | 'code'>,
  language: Language,
) {
  const translate = createTranslator(language.labels)
  const kind = kindsByCode[code] ?? chooseKind(status)
  const canRepeat = status >= 500 && request.method === 'GET'
  const body = html`
<p>${translate(`page.${kind}.text`)}</p>
<p class="actions"><a class="button" href="/">${translate('page.toStart')}</a>
${canRepeat && html`<a class="button quiet" href="">${translate('page.again')}</a>`}</p>
<p class="hint">${translate('page.requestId')}: <code>${request.id}</code></p>`
  return sendPage(reply.code(status), translate, language.locale, {
    title: translate(`page.${kind}.title`),
    body,
    isSignedIn: false,
  })
}

const kindsByCode: Partial<Record<Failure['code'], string>> = {
  connect_request_invalid: 'outdated',
  external_apps_off: 'appsOff',
}
const kindsByStatus: Record<number, string> = { 403: 'forbidden', 404: 'notFound', 503: 'unavailable' }

const chooseKind = (status: number) => kindsByStatus[status] ?? (status >= 500 ? 'failed' : 'refused')
