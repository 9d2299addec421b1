import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'

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

/**
 * The reference as one script. The package has it as a string literal in its module; importing the module would keep its
 * four megabytes in memory as long as the service runs.
 */
export async function readScript(): Promise<string> {
  const module = await readFile(fileURLToPath(import.meta.resolve('@scalar/fastify-api-reference')), 'utf8')
  const [, literal] = /^var standalone_default = (".*");$/m.exec(module) ?? []
  if (!literal) throw new Error('@scalar/fastify-api-reference has no standalone script where it used to be.')
  const script: string = runInNewContext(literal)
  return script.replace(/\n\/\/# sourceMappingURL=.*$/, '')
}
