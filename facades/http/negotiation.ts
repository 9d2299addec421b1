import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** Whether a program would rather have this type than JSON, by the weights that it gives to both. */
export function isPreferred(type: string, accept: string | undefined): boolean {
  if (!accept?.includes(type)) return false
  return new Negotiator({ headers: { accept } }).mediaType(['application/json', type]) === type
}

/** Whether a browser opens this address as a page. Programs and the scripts of our pages accept no HTML. */
export const isNavigation = ({ url, headers }: FastifyRequest): boolean =>
  isPreferred('text/html', headers.accept) && !/^\/(api|trpc)\//.test(url)

/** Says that the answer depends on this header of the request, too. */
export function addVary(reply: FastifyReply, name: string): void {
  const current = reply.getHeader('vary')
  const names = Array.isArray(current) ? current.join(', ') : current
  if (names === undefined) reply.header('vary', name)
  else if (!isListed(name, `${names}`)) reply.header('vary', `${names}, ${name}`)
}

/** Names of headers have no case, and one may be the beginning of another. */
const isListed = (name: string, names: string): boolean =>
  names.split(',').some((other) => other.trim().toLowerCase() === name.toLowerCase())
