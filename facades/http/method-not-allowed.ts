import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
// Is the router of Fastify, so that an address is read as the routes read it.
import findMyWay, { type HTTPVersion, type Instance } from 'find-my-way'
import { Problem } from '../../routers/core/problems.ts'

declare module 'fastify' {
  interface FastifyInstance {
    allowedMethods: AllowedMethods
  }
}

/** The allowed methods by address. */
class AllowedMethods {
  readonly #addresses: Instance<HTTPVersion.V1> = findMyWay({ ignoreTrailingSlash: true, maxParamLength: Infinity })
  /** By address pattern, regardless of parameter names. */
  readonly #byPattern = new Map<string, Set<string>>()

  add({ method, url, config }: RouteOptions): void {
    // Preflights are accepted everywhere.
    if (url === '*' || (config as RefusalConfig | undefined)?.isRefusal) return
    const pattern = url.replaceAll(/:[^/]+/g, ':parameter').replace(/(?<=.)\/$/, '')
    const methods = this.#byPattern.get(pattern) ?? this.#addPattern(pattern)
    for (const one of [method].flat()) methods.add(one)
  }

  /** Returns the methods of a path; empty for an unknown address. */
  findMethods(path: string): readonly string[] {
    const methods = this.#addresses.find('GET', path)?.store as Set<string> | undefined
    return methods ? [...methods, 'OPTIONS'] : []
  }

  #addPattern(pattern: string): Set<string> {
    const methods = new Set<string>()
    this.#byPattern.set(pattern, methods)
    this.#addresses.on('GET', pattern, () => {}, methods)
    return methods
  }
}

/** Records the routes that are registered from here on. */
export function recordMethods(app: FastifyInstance): void {
  app.decorate('allowedMethods', new AllowedMethods())
  app.addHook('onRoute', (route) => app.allowedMethods.add(route))
}

/** Responds to a request without a route: OPTIONS gets the methods of the address; all others throw. */
export async function refuseUnrouted(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const allowed = request.server.allowedMethods.findMethods(request.url)
  if (allowed.length === 0) throw new Problem('not_found', { detail: 'There is nothing at this address.' })
  reply.header('allow', allowed.join(', '))
  if (request.method !== 'OPTIONS') throw new Problem('method_not_allowed')
  return reply.code(204).send()
}

interface RefusalConfig {
  isRefusal?: true
}

/** Refuses a method at a fixed address that a route with a parameter would match. */
export function refuseMethod(app: FastifyInstance, method: string, url: string): void {
  const config: RefusalConfig = { isRefusal: true }
  app.route({ method, url, config: config as object, onRequest: refuseUnrouted, handler: refuseUnrouted })
}
