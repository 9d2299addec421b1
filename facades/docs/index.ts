import type { FastifyInstance } from 'fastify'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { Asset } from '../http/asset.ts'
import type { Endpoint } from '../http/openapi/endpoint.ts'
import type { OpenApiOptions } from './document.ts'
import type { Guide } from './guides.ts'
import { page, policy, readScript, scriptUrl } from './page.ts'

interface DocsOptions extends Omit<OpenApiOptions, 'endpoints' | 'guides'> {
  guides: readonly Guide[]
  endpoints(): Promise<readonly Endpoint[]>
}

/** What the service offers, for programs and for people; open to everybody. What describes it is loaded when somebody asks. */
export async function docs(app: FastifyInstance, options: DocsOptions) {
  const document = lazyPromise(async () => {
    const { openApiDocument } = await import('./document.ts')
    const described = openApiDocument({ ...options, endpoints: await options.endpoints() })
    return new Asset('application/json; charset=utf-8', JSON.stringify(described))
  })
  const script = lazyPromise(async () => new Asset('text/javascript; charset=utf-8', await readScript()))
  const guidePage = (guide: Guide) =>
    lazyPromise(async () => {
      const { renderGuide } = await import('./guides.ts')
      return new Asset('text/html; charset=utf-8', await renderGuide(guide, options.guides))
    })
  const documentUrl = `${options.names.basePath}/openapi.json`
  const html = new Asset('text/html; charset=utf-8', page(documentUrl))

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
