import type { FastifyInstance } from 'fastify'
import { createCaller } from '../../routers/index.ts'
import { setLegacyErrorHandler } from '../http/legacy-errors.ts'
import { toPreview } from '../http/link-preview.ts'
import { type FacadeOptions, procedureRoute } from '../http/procedures.ts'

interface LegacyPreviewOptions extends FacadeOptions {
  /** Prefix of picture addresses; empty for addresses without a host. */
  baseUrl: string
}

/** Serves previews at the legacy address, with the same response as the current one. */
export async function legacyLinkPreview(app: FastifyInstance, { baseUrl, ...options }: LegacyPreviewOptions) {
  setLegacyErrorHandler(app)
  app.post<{ Body: { url: string } | null }>(
    '/api/link-preview',
    procedureRoute('linkPreviews.metadata', options),
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { linkPreviews } = createCaller(await options.resolveContext(request, reply))
      return toPreview(
        await linkPreviews.metadata(request.body ?? ({} as { url: string })),
        baseUrl + app.names.basePath,
      )
    },
  )
}
