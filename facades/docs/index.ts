import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { entityTag, isKnown } from '../json-api/conditional.ts'
import { type OpenApiOptions, openApiDocument } from './document.ts'
import { documentUrl, page, policy, readScript, scriptUrl } from './page.ts'

interface Asset {
  type: string
  body: string
  etag: string
}

/** What the service offers, for programs and for people; open to everybody. */
export async function docs(app: FastifyInstance, options: OpenApiOptions) {
  const document = once(() => assetOf('application/json', JSON.stringify(openApiDocument(options))))
  const script = once(async () => assetOf('text/javascript; charset=utf-8', await readScript()))
  const html = assetOf('text/html; charset=utf-8', page)

  app.get(documentUrl, async (request, reply) => sendAsset(request, reply, await document()))
  app.get(scriptUrl, async (request, reply) => sendAsset(request, reply, await script()))
  for (const url of ['/docs', '/docs/'])
    app.get(url, async (request, reply) => sendAsset(request, reply.header('content-security-policy', policy), html))
}

function assetOf(type: string, body: string): Asset {
  return { type, body, etag: entityTag(body) }
}

/** Made when somebody first asks; who fails lets the next try. */
function once<T>(make: () => T | Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= (async () => make())().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}

function sendAsset({ headers }: FastifyRequest, reply: FastifyReply, { type, body, etag }: Asset): FastifyReply {
  reply.headers({ etag, 'cache-control': 'no-cache' })
  if (isKnown(headers['if-none-match'], etag)) return reply.code(304).send()
  return reply.type(type).send(body)
}
