import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { withCallOptions } from '../routers/core/context.ts'
import { Problem } from '../routers/core/problems.ts'
import { accessOf, assertMayCall, metaOf } from '../routers/core/trpc.ts'
import { parseJson } from './http/json-text.ts'
import { contextOf, type FacadeOptions, findProcedure } from './http/procedures.ts'

interface UploadRequest {
  Params: { path: string }
  Querystring: { input?: string }
}

/**
 * Registers the upload of a file to a procedure: `PUT /trpc/<name>?input=<JSON>`, whose body is the file as it is. tRPC
 * itself would read the whole file into memory.
 */
export async function trpcUploads(app: FastifyInstance, { resolveContext }: Pick<FacadeOptions, 'resolveContext'>) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_, body, done) => done(null, body))
  app.put<UploadRequest>('/trpc/:path', {
    onRequest: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const ctx = await resolveContext(request, reply)
      assertMayCall(ctx, accessOf(findUpload(request)))
    },
    handler: async (request) => {
      const { headers, query, params } = request
      const input = parseJson(Buffer.from(query.input ?? '{}'), 'invalid')
      const file = { content: request.body as Readable, announced: Number(headers['content-length'] ?? 0) }
      const procedure = findUpload(request)
      const call = { path: params.path, type: procedure._def.type, getRawInput: async () => input }
      const ctx = withCallOptions(contextOf(request), { file: request.body ? file : undefined })
      return { result: { data: await procedure({ ...call, ctx, signal: undefined, batchIndex: 0 }) } }
    },
  })
}

/** Throws if a procedure of this name takes no file. */
function findUpload({ params: { path } }: FastifyRequest<UploadRequest>) {
  const procedure = findProcedure(path)
  if (procedure && metaOf(procedure).file === 'in') return procedure
  throw new Problem('not_found', { detail: 'There is no procedure of this name that takes a file.' })
}
