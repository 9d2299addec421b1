import type { AnyTRPCRouter } from '@trpc/server'
import fastify from 'fastify'
import { readBodyLimits } from '../../../facades/http/body-limits.ts'
import { createWireNames } from '../../../facades/http/names.ts'
import { jsonApi } from '../../../facades/json-api/index.ts'
import type { Members } from '../../../facades/json-api/members.ts'
import { mediaType } from '../../../facades/json-api/routes.ts'
import { createContext } from '../../../routers/core/context.ts'
import type { Resource } from '../../../routers/resource/declare.ts'
import type { TestApp } from '../app.ts'

interface ServeOptions {
  router: AnyTRPCRouter
  resources: readonly Resource[]
  members?: Members
  services?: TestApp['services']
}

/** Serves a service's JSON:API with other types or other member names. */
export async function serveJsonApi(svc: TestApp, { services = svc.services, ...options }: ServeOptions) {
  const server = fastify()
  const { basePath } = server.decorate('names', createWireNames('svc')).names
  await server.register(jsonApi, {
    ...options,
    prefix: basePath,
    baseUrl: '',
    bodyLimits: readBodyLimits(svc.env),
    resolveContext: async (request) => {
      const { authorization } = request.headers
      const identity = authorization === undefined ? {} : await svc.authenticator.authenticateBearer(authorization, '/')
      request.context = createContext(services, { ...identity, requestId: request.id })
      return request.context
    },
  })
  /** Sends requests with a token, or as a guest. */
  const as = (token?: string) => async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, data?: unknown) => {
    const response = await server.inject({
      method,
      url: `${basePath}${path}`,
      headers: { ...(token && { authorization: `Bearer ${token}` }), 'content-type': mediaType },
      ...(data !== undefined && { payload: JSON.stringify(data) }),
    })
    return { status: response.statusCode, headers: response.headers, ...response.json() }
  }
  return { as, close: () => server.close() }
}
