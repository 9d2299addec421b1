import compress from '@fastify/compress'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { contentCodings } from '../../facades/http/asset.ts'

/** What fits into one packet gains nothing. */
const MIN_BYTES = 1024
/** What takes longer is compressed by a thread of the pool. */
const MAX_BYTES_IN_EVENT_LOOP = 16 * 1024

/**
 * Compresses answers, and keeps their headers true: a compressed representation has an entity tag of its own. Sessions
 * are safe from probing by compressed length, because their cookies do not go along with requests of other sites.
 */
export async function compression(app: FastifyInstance): Promise<void> {
  app.addHook('onRequest', async ({ headers }) => {
    for (const name of ['if-match', 'if-none-match'] as const)
      if (headers[name]) headers[name] = headers[name].replace(SUFFIXES, '"')
  })
  app.addHook('onSend', async ({ headers }, _, payload) => {
    // What is read piece by piece must not wait for a compressor to have enough of it.
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) headers['x-no-compression'] = 'true'
  })
  await app.register(compress, {
    encodings: [...contentCodings],
    threshold: MIN_BYTES,
    syncThreshold: MAX_BYTES_IN_EVENT_LOOP,
    // A small body that unpacks to a large one is nothing that anybody needs to send.
    globalDecompression: false,
  })
  app.addHook('onRoute', orderHooks)
}

/** At HEAD the framework drops the body before the compressor sees it, whose length would then be a wrong one. */
function orderHooks(route: RouteOptions): void {
  const hooks = [route.onSend ?? []].flat()
  const [dropBody, compressor] = hooks.slice(-2)
  const isHead = route.method === 'HEAD' && dropBody && compressor
  route.onSend = isHead
    ? [...hooks.slice(0, -2), compressor, labelRepresentation, dropBody]
    : [...hooks, labelRepresentation]
}

const SUFFIXES = new RegExp(`~(?:${contentCodings.join('|')})"`, 'g')

async function labelRepresentation(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  const vary = [reply.getHeader('vary') ?? []].flat().join(', ')
  if (!vary.includes('accept-encoding')) reply.header('vary', vary ? `${vary}, accept-encoding` : 'accept-encoding')
  const tag = reply.getHeader('etag')
  const coding = reply.statusCode === 304 ? codingKnown(request, tag) : reply.getHeader('content-encoding')
  if (tag && coding) reply.header('etag', tagOf(tag, coding))
  return payload
}

const tagOf = (tag: unknown, coding: unknown) => String(tag).replace(/"$/, `~${coding}"`)

/** The coding of the representation that the client has and asks about. */
function codingKnown({ raw }: FastifyRequest, tag: unknown) {
  const asked = raw.headersDistinct['if-none-match']?.join() ?? ''
  return contentCodings.find((coding) => asked.includes(tagOf(tag, coding)))
}
