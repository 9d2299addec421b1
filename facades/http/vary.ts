import type { FastifyReply } from 'fastify'

/** Says that the answer depends on this header of the request, too. */
export function varyBy(reply: FastifyReply, name: string): void {
  const known = reply.getHeader('vary')
  const names = Array.isArray(known) ? known.join(', ') : known
  if (names === undefined) reply.header('vary', name)
  else if (!`${names}`.includes(name)) reply.header('vary', `${names}, ${name}`)
}
