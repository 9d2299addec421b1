import { randomBytes } from 'node:crypto'
import fastify, { type FastifyInstance } from 'fastify'
import { Problem } from '../routers/problems.ts'
import { entityTag, isKnown } from './json-api/conditional.ts'
import { type OpenApiOptions, openApiDocument } from './json-api/openapi.ts'
import { basePath } from './json-api/wire.ts'

const documentUrl = `${basePath}/openapi.json`
/** Stands in the page until it is sent. */
const NONCE = 'nonce-of-the-answer'

/** What the service offers, for programs and for people; open to everybody. */
export async function docs(app: FastifyInstance, options: OpenApiOptions) {
  let made: { text: string; etag: string } | undefined
  const make = () => {
    const text = JSON.stringify(openApiDocument(options))
    return { text, etag: entityTag(text) }
  }

  app.get(documentUrl, async (request, reply) => {
    made ??= make()
    reply.headers({ etag: made.etag, 'cache-control': 'no-cache' })
    if (isKnown(request.headers['if-none-match'], made.etag)) return reply.code(304).send()
    return reply.type('application/json').send(made.text)
  })

  app.addHook('onRequest', async ({ hostname }) => {
    // The page is found by the address that it was asked for.
    if (!URL.canParse(`http://${hostname}`)) throw new Problem('not_found')
  })
  app.addHook('onSend', async (_, reply, payload) => {
    if (typeof payload !== 'string' || !String(reply.getHeader('content-type')).startsWith('text/html')) return payload
    const nonce = randomBytes(16).toString('base64url')
    reply.header('content-security-policy', policy(nonce))
    return payload.replaceAll(NONCE, nonce)
  })

  let page: ReturnType<typeof openPage> | undefined
  for (const url of ['/docs', '/docs/*']) {
    app.get(url, async (request, reply) => {
      page ??= openPage()
      const { statusCode, headers, rawPayload } = await (await page).inject({ url: request.url })
      const { 'content-type': type, location } = headers
      reply.code(statusCode).header('cache-control', 'no-cache').header('content-type', type)
      if (location) reply.header('location', location)
      return reply.send(String(type).startsWith('text/html') ? rawPayload.toString() : rawPayload)
    })
  }
}

/** A server inside this one, opened when somebody first looks: the page takes more memory than all the rest of the faces. */
async function openPage(): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const app = fastify()
  await app.register(scalar, { routePrefix: '/docs', configuration })
  return app
}

/** Nothing from elsewhere, and no script but ours. The page's editor writes its own styles, which can fetch nothing. */
const policy = (nonce: string) =>
  [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
  ].join('; ')

/** The page asks nobody else for anything: fonts, proxies, assistants and counters are off. */
const configuration = {
  url: documentUrl,
  pageTitle: 'API',
  nonce: NONCE,
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
} as const
