import compress from '@fastify/compress'
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler, RouteOptions } from 'fastify'
import { addVary, contentCodings } from '../../facades/http/negotiation.ts'

/** Smallest body to compress: a smaller one fits into one packet anyway. */
const MIN_BYTES = 1024
/** Largest body that is compressed in the event loop; larger ones are compressed in the thread pool. */
const MAX_BYTES_IN_EVENT_LOOP = 16 * 1024

/**
 * Compresses responses. A compressed representation gets an entity tag of its own. Attacks by compressed length (BREACH) do
 * not reach sessions, because other sites' requests do not carry their cookies.
 */
export async function registerCompression(app: FastifyInstance): Promise<void> {
  app.addHook('onRequest', ({ headers }, _, done) => {
    for (const name of ['if-match', 'if-none-match'] as const)
      if (headers[name]) headers[name] = headers[name].replace(CODING_SUFFIXES, '"')
    done()
  })
  await app.register(compress, {
    encodings: [...contentCodings],
    threshold: MIN_BYTES,
    syncThreshold: MAX_BYTES_IN_EVENT_LOOP,
    // Compressed request bodies are refused, because a small one could expand to gigabytes.
    globalDecompression: false,
  })
  app.addHook('onRoute', reorderHooks)
}

/** Moves the compressor before the hook that drops the body of a HEAD response; otherwise `content-length` would differ from that of GET. */
function reorderHooks(route: RouteOptions): void {
  const hooks = [route.onSend ?? []].flat()
  const compressor = hooks.pop()
  const dropBody = route.method === 'HEAD' ? hooks.pop() : undefined
  if (compressor) hooks.push(compressWhenUseful(compressor))
  hooks.push(labelRepresentation)
  if (dropBody) hooks.push(dropBody)
  route.onSend = hooks
}

/** Calls the compressor only for compressible bodies. It would inspect all others, too, for which Node loads its `fetch`. */
const compressWhenUseful = (compressor: onSendHookHandler): onSendHookHandler =>
  function (request, reply, payload, done) {
    if (isCompressible(request, payload)) compressor.call(this, request, reply, payload, done)
    else done(null, payload)
  }

/** Returns whether a body should be compressed. Streams are not, because the compressor would delay their chunks. */
const isCompressible = ({ headers }: FastifyRequest, payload: unknown): boolean =>
  headers['accept-encoding'] !== undefined &&
  (typeof payload === 'string' || Buffer.isBuffer(payload)) &&
  Buffer.byteLength(payload) >= MIN_BYTES

const CODING_SUFFIXES = new RegExp(`~(?:${contentCodings.join('|')})"`, 'g')

function labelRepresentation(request: FastifyRequest, reply: FastifyReply, _: unknown, done: () => void): void {
  addVary(reply, 'accept-encoding')
  const tag = reply.getHeader('etag')
  const coding = reply.statusCode === 304 ? findCachedCoding(request, tag) : reply.getHeader('content-encoding')
  if (tag && coding) reply.header('etag', buildTag(tag, coding))
  done()
}

const buildTag = (tag: unknown, coding: unknown) => String(tag).replace(/"$/, `~${coding}"`)

/** Returns the content coding of the representation that the client has cached. */
function findCachedCoding({ raw }: FastifyRequest, tag: unknown) {
  const cachedTags = raw.headersDistinct['if-none-match']?.join() ?? ''
  return contentCodings.find((coding) => cachedTags.includes(buildTag(tag, coding)))
}
