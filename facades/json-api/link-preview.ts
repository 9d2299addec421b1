import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createCaller } from '../../routers/index.ts'
import { previewOf } from '../http/link-preview.ts'
import type { ContextOf } from '../http/procedures.ts'
import { sendFile } from '../http/send-file.ts'
import { ownParameters } from './query.ts'

interface LinkPreviewOptions {
  contextOf: ContextOf
  /** Of the JSON:API. */
  baseUrl: string
}

interface Asked {
  Querystring: { url: string }
}

/** Judging it is the procedure's task. */
const inputOf = ({ query }: FastifyRequest<Asked>) => ownParameters(query) as Asked['Querystring']

/** What links lead to, as plain JSON and pictures; only what goes wrong is a document. */
export async function linkPreview(app: FastifyInstance, { contextOf, baseUrl }: LinkPreviewOptions) {
  const config = { isPlain: true } as object
  const previewsFor = async (request: FastifyRequest, reply: FastifyReply) =>
    createCaller(await contextOf(request, reply)).linkPreviews

  app.get<Asked>('/metadata', { config }, async (request, reply) => {
    const preview = await (await previewsFor(request, reply)).metadata(inputOf(request))
    reply.header('cache-control', 'private, max-age=3600').type('application/json')
    return JSON.stringify(previewOf(preview, baseUrl))
  })

  for (const kind of ['image', 'favicon'] as const)
    app.get<Asked>(`/${kind}`, { config }, async (request, reply) => {
      const file = await (await previewsFor(request, reply))[kind](inputOf(request))
      const payload = sendFile(request, reply, file)
      reply.header('cache-control', 'private, max-age=3600')
      return payload
    })
}
