import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** Returns true if a client prefers this type to JSON, by its weights. */
export function isPreferred(type: string, accept: string | undefined): boolean {
  if (!accept?.includes(type)) return false
  return new Negotiator({ headers: { accept } }).mediaType(['application/json', type]) === type
}

/** Supported content codings, the preferred one first. */
export const contentCodings = ['br', 'gzip'] as const
export type ContentCoding = (typeof contentCodings)[number]

/** Chooses the first supported coding that a client accepts; undefined if it accepts none. */
export function chooseCoding(acceptEncoding: string | undefined): ContentCoding | undefined {
  const accepted = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } }).encodings(contentCodings)
  return contentCodings.find((coding) => accepted.includes(coding))
}

/** Returns true if a browser opens the address as a page. Programs and scripts of our pages accept no HTML. */
export const isNavigation = ({ url, headers }: FastifyRequest): boolean =>
  isPreferred('text/html', headers.accept) && !/^\/(api|trpc)\//.test(url)

/** Adds a request header to `Vary`. */
export function addVary(reply: FastifyReply, name: string): void {
  const current = reply.getHeader('vary')
  const names = Array.isArray(current) ? current.join(', ') : current
  if (names === undefined) reply.header('vary', name)
  else if (!isListed(name, `${names}`)) reply.header('vary', `${names}, ${name}`)
}

/** Compares whole header names without case. */
const isListed = (name: string, names: string): boolean =>
  names.split(',').some((other) => other.trim().toLowerCase() === name.toLowerCase())
