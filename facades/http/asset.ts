import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createEntityTag, matchesIfNoneMatch } from './conditional.ts'

/** Supported content codings, the preferred one first. */
export const contentCodings = ['br', 'gzip'] as const
type Coding = (typeof contentCodings)[number]

const compressors: Record<Coding, (body: string) => Promise<Buffer>> = {
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  gzip: promisify<string, Buffer>(gzip),
}

/** A static file; each compressed form is created once on demand. */
export class Asset {
  readonly #type: string
  readonly #body: string
  readonly #etag: string
  readonly #caching: string
  readonly #compressed = new Map<Coding, Promise<Buffer>>()

  constructor(type: string, body: string, caching = 'no-cache') {
    this.#type = type
    this.#caching = caching
    this.#body = body
    this.#etag = createEntityTag(body)
  }

  async send({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    reply.headers({ etag: this.#etag, 'cache-control': this.#caching })
    if (matchesIfNoneMatch(headers['if-none-match'], this.#etag)) return reply.code(304).send()
    reply.type(this.#type)
    const coding = negotiate(headers['accept-encoding'] ?? '', [...contentCodings])
    if (!coding) return reply.send(this.#body)
    return reply.header('content-encoding', coding).send(await this.#compress(coding))
  }

  #compress(coding: Coding): Promise<Buffer> {
    const compressed = this.#compressed.get(coding) ?? compressors[coding](this.#body)
    this.#compressed.set(coding, compressed)
    return compressed
  }
}
