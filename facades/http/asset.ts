import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { createEntityTag, matchesIfNoneMatch } from './conditional.ts'
import { type ContentCoding, chooseCoding } from './negotiation.ts'

const compressors: Record<ContentCoding, (body: string) => Promise<Buffer>> = {
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  gzip: promisify<string, Buffer>(gzip),
}

/** A static file; each compressed form is created once on demand. */
export class Asset {
  readonly #type: string
  readonly #body: string
  readonly #etag: string
  readonly #caching: string
  readonly #compressed: Readonly<Record<ContentCoding, () => Promise<Buffer>>>

  constructor(type: string, body: string, caching = 'no-cache') {
    this.#type = type
    this.#caching = caching
    this.#body = body
    this.#etag = createEntityTag(body)
    this.#compressed = {
      br: lazyPromise(() => compressors.br(body)),
      gzip: lazyPromise(() => compressors.gzip(body)),
    }
  }

  async send({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const coding = chooseCoding(headers['accept-encoding'])
    // Comes before the headers, which an error response would keep.
    const body = coding ? await this.#compressed[coding]() : this.#body
    reply.headers({ etag: this.#etag, 'cache-control': this.#caching })
    if (matchesIfNoneMatch(headers['if-none-match'], this.#etag)) return reply.code(304).send()
    reply.type(this.#type)
    if (coding) reply.header('content-encoding', coding)
    return reply.send(body)
  }
}
