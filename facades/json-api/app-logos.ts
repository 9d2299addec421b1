import type { FastifyInstance } from 'fastify'
import { createCaller } from '../../routers/index.ts'
import type { ContextOf } from '../http/procedures.ts'
import { sendFile } from '../http/send-file.ts'

interface Asked {
  Params: { id: string }
  Querystring: { expires: string; signature: string }
}

/** Logos of external apps; only what goes wrong is a document. */
export async function appLogos(app: FastifyInstance, { contextOf }: { contextOf: ContextOf }) {
  app.get<Asked>(
    '/ext-apps/actions/proxy-logo/:id',
    { config: { isPlain: true } as object },
    async (request, reply) => {
      const { expires, signature } = request.query
      const logos = createCaller(await contextOf(request, reply)).appLogos
      const payload = sendFile(request, reply, await logos.read({ id: request.params.id, expires, signature }))
      reply.header('cache-control', 'private, max-age=3600')
      return payload
    },
  )
}
