import type { FastifyInstance } from 'fastify'
import { Asset } from '../http/asset.ts'
import { type OpenApiOptions, openApiDocument } from './document.ts'
import { page, policy, readScript, scriptUrl } from './page.ts'

/** What the service offers, for programs and for people; open to everybody. */
export async function docs(app: FastifyInstance, options: OpenApiOptions) {
  const document = once(() => new Asset('application/json; charset=utf-8', JSON.stringify(openApiDocument(options))))
  const script = once(async () => new Asset('text/javascript; charset=utf-8', await readScript()))
  const documentUrl = `${options.names.basePath}/openapi.json`
  const html = new Asset('text/html; charset=utf-8', page(documentUrl))

  app.get(documentUrl, async (request, reply) => (await document()).send(request, reply))
  app.get(scriptUrl, async (request, reply) => (await script()).send(request, reply))
  for (const url of ['/docs', '/docs/'])
    app.get(url, async (request, reply) => html.send(request, reply.header('content-security-policy', policy)))
}

/** Made when somebody first asks; after a failure the next try makes it again. */
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
