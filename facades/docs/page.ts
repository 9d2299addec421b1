import { fastify } from 'fastify'

export const scriptUrl = '/docs/scalar.js'

/** The page asks nobody else for anything: fonts, proxies, assistants and counters are off. */
const configuration = {
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
} as const

const attribute = (value: object) => JSON.stringify(value).replaceAll('&', '&amp;').replaceAll('"', '&quot;')

export const page = (documentUrl: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API</title>
</head>
<body>
<div id="api-reference" data-configuration="${attribute({ url: documentUrl, ...configuration })}"></div>
<script src="${scriptUrl}"></script>
<noscript>This page needs JavaScript. <a href="${documentUrl}">The same as OpenAPI</a></noscript>
</body>
</html>
`

/** Nothing from elsewhere, and no script but ours. The page's editor writes its own styles, which can fetch nothing. */
export const policy = [
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

/** Reads the script of the reference, as its plugin serves it. The package is loaded here, because most services never show the page. */
export async function readScript(): Promise<string> {
  const { default: reference } = await import('@scalar/fastify-api-reference')
  const app = fastify()
  await app.register(reference, { routePrefix: '/docs', configuration: { url: '/openapi.json' } })
  const { statusCode, body } = await app.inject('/docs/js/scalar.js')
  await app.close()
  if (statusCode !== 200) throw new Error(`@scalar/fastify-api-reference answers ${statusCode} for its script.`)
  return body.replace(/\n\/\/# sourceMappingURL=.*$/, '')
}
