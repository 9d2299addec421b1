import type { FastifyInstance } from 'fastify'
import { createCaller } from '../../routers/index.ts'
import type { ContextOf } from '../http/procedures.ts'
import { sendFile } from '../http/send-file.ts'
import { ownParameters } from './query.ts'

interface Asked {
  Params: { id: string }
  Querystring: { expires: string; signature: string }
}

const url = '/ext-apps/actions/proxy-logo/:id'

/** Logos of external apps; only what goes wrong is a document. */
export async function appLogos(app: FastifyInstance, { contextOf }: { contextOf: ContextOf }) {
  app.get<Asked>(url, { config: { isPlain: true } as object }, async (request, reply) => {
    const query = ownParameters(request.query) as Asked['Querystring']
    const logos = createCaller(await contextOf(request, reply)).appLogos
    const payload = sendFile(request, reply, await logos.read({ ...query, id: request.params.id }))
    reply.header('cache-control', 'private, max-age=3600')
    return payload
  })
}
