import type { FastifyReply } from 'fastify'

/** Says that the answer depends on this header of the request, too. */
export function varyBy(reply: FastifyReply, name: string): void {
  const known = reply.getHeader('vary')
  const names = Array.isArray(known) ? known.join(', ') : known
  if (names === undefined) reply.header('vary', name)
  else if (!isAmong(name, `${names}`)) reply.header('vary', `${names}, ${name}`)
}

/** Names of headers have no case, and one may be the beginning of another. */
const isAmong = (name: string, names: string): boolean =>
  names.split(',').some((other) => other.trim().toLowerCase() === name.toLowerCase())
