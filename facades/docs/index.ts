import { type FastifyInstance, fastify } from 'fastify'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { Asset } from '../http/asset.ts'
import type { Endpoint } from '../http/openapi.ts'
import type { OpenApiOptions } from './document.ts'
import type { Guide } from './guides.ts'

interface DocsOptions extends Omit<OpenApiOptions, 'endpoints' | 'guides'> {
  guides: readonly Guide[]
  endpoints(): Promise<readonly Endpoint[]>
}

/** Serves the public API reference and the guides. The document is built at the first request. */
export async function docs(app: FastifyInstance, options: DocsOptions) {
  const document = lazyPromise(async () => {
    const { buildOpenApiDocument } = await import('./document.ts')
    const described = buildOpenApiDocument({ ...options, endpoints: await options.endpoints() })
    return new Asset('application/json; charset=utf-8', JSON.stringify(described))
  })
  const script = lazyPromise(async () => new Asset('text/javascript; charset=utf-8', await readScript()))
  const guidePage = (guide: Guide) =>
    lazyPromise(async () => {
      const { renderGuide } = await import('./guides.ts')
      return new Asset('text/html; charset=utf-8', await renderGuide(guide, options.guides))
    })
  const documentUrl = `${options.names.basePath}/openapi.json`
  const html = new Asset('text/html; charset=utf-8', renderPage(documentUrl))

  app.get(documentUrl, async (request, reply) => (await document()).send(request, reply))
  app.get(scriptUrl, async (request, reply) => (await script()).send(request, reply))
  app.get('/docs', async (request, reply) => html.send(request, reply.header('content-security-policy', policy)))
  for (const guide of options.guides) {
    const load = guidePage(guide)
    app.get(`/docs/${guide.slug}`, async (request, reply) =>
      (await load()).send(request, reply.header('content-security-policy', policy)),
    )
  }
}

const scriptUrl = '/docs/scalar.js'

/** The page contacts no other site: fonts, proxies, assistants and telemetry are off. */
const configuration = {
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
} as const

const toAttribute = (value: object) => JSON.stringify(value).replaceAll('&', '&amp;').replaceAll('"', '&quot;')

const renderPage = (documentUrl: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API</title>
</head>
<body>
<div id="api-reference" data-configuration="${toAttribute({ url: documentUrl, ...configuration })}"></div>
<script src="${scriptUrl}"></script>
<noscript>This page needs JavaScript. <a href="${documentUrl}">The same as OpenAPI</a></noscript>
</body>
</html>
`

/**
 * The policy allows only own scripts and no other origin. The page's editor writes inline styles, which can fetch
 * nothing.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Reads the script of the reference from its plugin. The package is loaded lazily, because most services never show the
 * page.
 */
async function readScript(): Promise<string> {
  const { default: reference } = await import('@scalar/fastify-api-reference')
  const app = fastify()
  await app.register(reference, { routePrefix: '/docs', configuration: { url: '/openapi.json' } })
  const { statusCode, body } = await app.inject('/docs/js/scalar.js')
  await app.close()
  if (statusCode !== 200) throw new Error(`@scalar/fastify-api-reference answers ${statusCode} for its script.`)
  return body.replace(/\n\/\/# sourceMappingURL=.*$/, '')
}
