import type { FastifyRequest } from 'fastify'

/** Reads the query of a request as text; empty without one. */
export function readSearch({ url }: FastifyRequest): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at + 1)
}
