import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'
import { createCaller } from '../../routers/index.ts'
import { Asset } from '../http/asset.ts'
import type { ContextResolver } from '../http/procedures.ts'
import type { AppEntry, AppSource } from './app-files.ts'
import { html } from './html.ts'
import {
  createTranslator,
  listSiteLinks,
  readColorScheme,
  schemeAttribute,
  siteFiles,
  type Translate,
} from './layout.ts'
import type { SiteView } from './site.ts'

/** The addresses of the front end; unknown addresses are not found. */
const settings = ['profile', 'security', 'tokens', 'apps', 'usage', 'data', 'sessions', 'appearance']
const admin = ['/admin', '/admin/:section', '/admin/:section/:id']
const subjects = ['/chat', '/chat/:slug', '/rooms', '/rooms/:slug', '/settings', ...admin]
const addresses = [...subjects, ...settings.map((section) => `/settings/${section}`)]

/** The policy allows only this origin; Trusted Types restrict code from strings to the addresses of two workers. */
const policy: Readonly<Record<string, string>> = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data: blob:",
  'font-src': "'self'",
  'connect-src': "'self'",
  // Blobs are opened PDF files.
  'frame-src': "'self' blob:",
  'form-action': "'self'",
  'base-uri': "'none'",
  'frame-ancestors': "'none'",
  'require-trusted-types-for': "'script'",
  'worker-src': "'self'",
  'trusted-types': 'import-worker search-worker',
}

const writePolicy = (relaxations: AppSource['relaxations']) =>
  Object.entries({ ...policy, ...relaxations })
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join('; ')

/** Serves the page of the front end to signed-in people. */
export function serveAppPage(app: FastifyInstance, resolveContext: ContextResolver, source: AppSource): void {
  const pagePolicy = writePolicy(source.relaxations)
  const labels = new LabelFiles()
  app.get<{ Params: { name: string } }>('/assets/labels/:name', async (request, reply) => {
    const asset = labels.find(request.params.name, (await resolveContext(request, reply)).services.labels)
    return asset.send(request, reply)
  })
  for (const address of addresses)
    app.get(address, async (request, reply) => {
      const ctx = await resolveContext(request, reply)
      const { view } = await createCaller(ctx).pages.visit({ page: 'chat' })
      reply.headers({ 'cache-control': 'no-store', 'content-security-policy': pagePolicy })
      if (view !== 'chat') return reply.redirect(`/${view}?redirectUri=${encodeURIComponent(request.url)}`)
      const { locale, services } = ctx
      const translate = createTranslator(services.labels[locale as keyof typeof services.labels] ?? {})
      const language = { locale, labels: labels.getAddress(locale, services.labels), translate }
      return sendShell(reply, await source.entry(), language)
    })
}

function sendShell(
  reply: FastifyReply,
  { script, styles, imports }: AppEntry,
  language: { locale: string; labels: string; translate: Translate },
) {
  const { brand, pageApi } = reply.server.names
  const { site } = reply.server
  const { locale, labels, translate } = language
  const scheme = readColorScheme(reply.request)
  const page = html`<!doctype html>
<html lang="${locale.slice(0, 2)}" data-locale="${locale}" data-brand="${brand}" data-api="${pageApi}" data-labels="${labels}"${schemeAttribute(scheme)}${siteAttributes(site, listSiteLinks(translate, site))}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="${scheme.supported}">
<title>${site.name}</title>
${styles.map((file) => html`<link rel="stylesheet" href="${file}">`)}
${siteFiles(site)}
${imports.map((file) => html`<link rel="modulepreload" href="${file}">`)}
<link rel="preload" href="${labels}" as="fetch" crossorigin>
<script type="module" src="${script}"></script>
</head>
<body>
<div id="app"></div>
</body>
</html>
`
  return reply.type('text/html; charset=utf-8').send(page.text)
}

/** Writes the attributes of the site for the front end. */
const siteAttributes = ({ name, logo }: SiteView, links: ReturnType<typeof listSiteLinks>) =>
  html` data-site="${name}"${logo !== undefined && html` data-logo="${logo}"`} data-links="${JSON.stringify(links)}"`

type LabelsByLocale = Readonly<Record<string, Readonly<Record<string, string>>>>

/** The texts of each language as files, whose names change with the content. */
class LabelFiles {
  readonly #files = new Map<string, { name: string; asset: Asset }>()

  getAddress(locale: string, all: LabelsByLocale): string {
    return `/assets/labels/${this.#getFile(locale, all).name}`
  }

  find(name: string, all: LabelsByLocale): Asset {
    const locale = name.slice(0, 5)
    const file = Object.hasOwn(all, locale) ? this.#getFile(locale, all) : undefined
    if (file?.name !== name) throw new Problem('not_found')
    return file.asset
  }

  #getFile(locale: string, all: LabelsByLocale) {
    const cached = this.#files.get(locale)
    if (cached) return cached
    const body = JSON.stringify(all[locale] ?? {})
    const name = `${locale}-${hash('sha1', body, 'hex').slice(0, 12)}.json`
    const file = {
      name,
      asset: new Asset('application/json; charset=utf-8', body, 'public, max-age=31536000, immutable'),
    }
    this.#files.set(locale, file)
    return file
  }
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
}, { once: true })`

/** The policy allows only the script above; styles and pictures may be inline. */
const previewPolicy = [
  "default-src 'none'",
  `script-src 'sha256-${hash('sha256', previewScript, 'base64')}'`,
  "style-src 'unsafe-inline'",
  'img-src data:',
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
  'sandbox allow-scripts',
].join('; ')

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
