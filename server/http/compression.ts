import compress from '@fastify/compress'
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler, RouteOptions } from 'fastify'
import { contentCodings } from '../../facades/http/asset.ts'
import { varyBy } from '../../facades/http/negotiation.ts'

/** A smaller body fits into one packet, and compressing it gains nothing. */
const MIN_BYTES = 1024
/** A larger body is compressed in the thread pool, because it would block the event loop. */
const MAX_BYTES_IN_EVENT_LOOP = 16 * 1024

/**
 * Compresses answers, and keeps their headers true: a compressed representation has an entity tag of its own. Sessions
 * are safe from probing by compressed length, because their cookies do not go along with requests of other sites.
 */
export async function compression(app: FastifyInstance): Promise<void> {
  app.addHook('onRequest', ({ headers }, _, done) => {
    for (const name of ['if-match', 'if-none-match'] as const)
      if (headers[name]) headers[name] = headers[name].replace(SUFFIXES, '"')
    done()
  })
  await app.register(compress, {
    encodings: [...contentCodings],
    threshold: MIN_BYTES,
    syncThreshold: MAX_BYTES_IN_EVENT_LOOP,
    // Compressed request bodies are refused: a small one could unpack to gigabytes.
    globalDecompression: false,
  })
  app.addHook('onRoute', orderHooks)
}

/** Fastify drops the body of a HEAD answer before the compressor runs, so `content-length` would differ from that of GET. */
function orderHooks(route: RouteOptions): void {
  const hooks = [route.onSend ?? []].flat()
  const compressor = hooks.pop()
  const dropBody = route.method === 'HEAD' ? hooks.pop() : undefined
  if (compressor) hooks.push(whereItGains(compressor))
  hooks.push(labelRepresentation)
  if (dropBody) hooks.push(dropBody)
  route.onSend = hooks
}

/** The compressor for what it makes smaller: it looks at the rest, too, by all of Node's `fetch`, which is loaded for that. */
const whereItGains = (compressor: onSendHookHandler): onSendHookHandler =>
  function (request, reply, payload, done) {
    if (isCompressible(request, payload)) compressor.call(this, request, reply, payload, done)
    else done(null, payload)
  }

/** A streamed body is not: the compressor would hold its parts back. */
const isCompressible = ({ headers }: FastifyRequest, payload: unknown): boolean =>
  headers['accept-encoding'] !== undefined &&
  (typeof payload === 'string' || Buffer.isBuffer(payload)) &&
  Buffer.byteLength(payload) >= MIN_BYTES

const SUFFIXES = new RegExp(`~(?:${contentCodings.join('|')})"`, 'g')

function labelRepresentation(request: FastifyRequest, reply: FastifyReply, _: unknown, done: () => void): void {
  varyBy(reply, 'accept-encoding')
  const tag = reply.getHeader('etag')
  const coding = reply.statusCode === 304 ? codingKnown(request, tag) : reply.getHeader('content-encoding')
  if (tag && coding) reply.header('etag', buildTag(tag, coding))
  done()
}

const buildTag = (tag: unknown, coding: unknown) => String(tag).replace(/"$/, `~${coding}"`)

/** The content coding of the representation that the client has cached. */
function codingKnown({ raw }: FastifyRequest, tag: unknown) {
  const asked = raw.headersDistinct['if-none-match']?.join() ?? ''
  return contentCodings.find((coding) => asked.includes(buildTag(tag, coding)))
}
