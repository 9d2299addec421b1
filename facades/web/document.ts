import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Labels } from '../../routers/ports/locales.ts'
import type { AppEntry } from './app-files.ts'
import { type Html, html } from './html.ts'
import type { SiteView } from './site.ts'
import { MANIFEST_PATH, themeColors } from './web-manifest.ts'

/** Name of the cookie with the chosen colour scheme. */
export const SCHEME_COOKIE = 'scheme'

/** The colour scheme of a page; both are supported without a choice. */
interface ColorScheme {
  chosen: 'light' | 'dark' | undefined
  supported: string
}

function readColorScheme({ cookies }: FastifyRequest): ColorScheme {
  const cookie = cookies?.[SCHEME_COOKIE]
  const chosen = cookie === 'light' || cookie === 'dark' ? cookie : undefined
  return { chosen, supported: chosen ?? 'light dark' }
}

/** Lists the colours that browsers give their frame, for each supported scheme. */
const listThemeColors = ({ chosen }: ColorScheme): { color: string; media?: string }[] =>
  chosen
    ? [{ color: themeColors[chosen] }]
    : Object.entries(themeColors).map(([scheme, color]) => ({ color, media: `(prefers-color-scheme: ${scheme})` }))

/** Translates a key. */
export type Translate = (key: string) => string

export const createTranslator =
  (labels: Labels): Translate =>
  (key) =>
    labels[key] ?? key

/** The language of a page. */
export interface PageLanguage {
  locale: string
  translate: Translate
  /** Address of the labels for the script of the page. */
  labels?: string
}

/** The operator's privacy notice: a label of HTML, on a page of its own. */
export const dataProtection = {
  path: '/dataprotection',
  label: '_DataProtection',
  exists: (translate: Translate): boolean => translate('_DataProtection') !== '_DataProtection',
}

/** Lists the links about this installation by label; the operator's own privacy notice is the default. */
export function listSiteLinks(translate: Translate, { links }: SiteView): { text: string; address: string }[] {
  const own = dataProtection.exists(translate) ? dataProtection.path : undefined
  return [
    { text: 'page.site.help', address: links.help },
    { text: 'page.dataProtection', address: links.privacy ?? own },
    { text: 'page.site.imprint', address: links.imprint },
  ].flatMap(({ text, address }) => (address === undefined ? [] : { text, address }))
}

interface Document {
  title: string
  /** The files of the page; without labels, it loads no script. */
  files: AppEntry
  body: Html
}

/** Writes a whole page. Scripts and styles are always separate files. */
export function writeDocument(
  { server: { names, site }, request }: FastifyReply,
  { locale, translate, labels }: PageLanguage,
  { title, files, body }: Document,
): string {
  const scheme = readColorScheme(request)
  const document = html`<!doctype html>
<html lang="${locale.slice(0, 2)}" data-locale="${locale}" data-brand="${names.brand}" data-api="${names.basePath}"${labels !== undefined && html` data-labels="${labels}"`}${scheme.chosen !== undefined && html` data-scheme="${scheme.chosen}"`}${siteAttributes(site, listSiteLinks(translate, site))}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="${scheme.supported}">
<title>${title}</title>
${files.styles.map((file) => html`<link rel="stylesheet" href="${file}">`)}
${site.style !== undefined && html`<link rel="stylesheet" href="${site.style}">`}
${listThemeColors(scheme).map(({ color, media }) => html`<meta name="theme-color" content="${color}"${media !== undefined && html` media="${media}"`}>`)}
<link rel="manifest" href="${MANIFEST_PATH}" crossorigin="use-credentials">
<link rel="icon" href="${site.logo ?? 'data:,'}">
${labels !== undefined && linkScripts(files, labels)}
</head>
<body>
${body}
</body>
</html>
`
  return document.text
}

/** Writes the attributes of the site for the scripts. */
const siteAttributes = ({ name, logo, hasTitles }: SiteView, links: ReturnType<typeof listSiteLinks>) =>
  html` data-site="${name}"${logo !== undefined && html` data-logo="${logo}"`}${!hasTitles && html` data-titles="off"`} data-links="${JSON.stringify(links)}"`

const linkScripts = ({ script, imports }: AppEntry, labels: string) =>
  html`${imports.map((file) => html`<link rel="modulepreload" href="${file}">`)}
<link rel="preload" href="${labels}" as="fetch" crossorigin>
<script type="module" src="${script}"></script>`

/** The policy of every page: everything comes from this origin, and no script is inline. */
const basePolicy: Readonly<Record<string, string>> = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'font-src': "'self'",
  'connect-src': "'self'",
  'manifest-src': "'self'",
  'form-action': "'self'",
  'base-uri': "'none'",
  'frame-ancestors': "'none'",
  'require-trusted-types-for': "'script'",
}

/** Writes the policy of a page, with its additions by directive. */
export const writePolicy = (...additions: (Readonly<Record<string, string>> | undefined)[]): string =>
  Object.entries(Object.assign({}, basePolicy, ...additions))
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join('; ')
