import type { FastifyInstance } from 'fastify'
import { createCaller } from '../../routers/index.ts'
import { toPreview } from '../http/link-preview.ts'
import { type FacadeOptions, routeTo } from '../http/procedures.ts'
import { answerErrors } from './errors.ts'

interface LegacyPreviewOptions extends FacadeOptions {
  /** In front of the addresses of pictures; empty for addresses without a host. */
  baseUrl: string
}

/** A preview for pages that ask for it in the older way; the same as its successor answers. */
export async function legacyLinkPreview(app: FastifyInstance, { baseUrl, ...options }: LegacyPreviewOptions) {
  answerErrors(app)
  app.post<{ Body: { url: string } | null }>(
    '/api/link-preview',
    routeTo('linkPreviews.metadata', options),
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { linkPreviews } = createCaller(await options.contextOf(request, reply))
      return toPreview(
        await linkPreviews.metadata(request.body ?? ({} as { url: string })),
        baseUrl + app.names.basePath,
      )
    },
  )
}
