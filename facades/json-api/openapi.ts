import type { AnyTRPCRouter } from '@trpc/server'
import type { Resource } from '../../routers/resource.ts'
import { BodySchemas } from './openapi-bodies.ts'
import { Components, type Described } from './openapi-components.ts'
import { operationOf, type Writing } from './openapi-operations.ts'
import { AnswerSchemas } from './openapi-schemas.ts'
import { servedRoutes } from './served-routes.ts'
import { basePath, brand, sessionCookie } from './wire.ts'

export interface OpenApiOptions {
  router: AnyTRPCRouter
  resources: readonly Resource[]
  /** In front of every address; empty where documents name no host. */
  baseUrl: string
}

/** Everything that the JSON:API surface offers, as OpenAPI describes it. */
export function openApiDocument({ router, resources, baseUrl }: OpenApiOptions): Described {
  const components = new Components()
  const byType = new Map(resources.map((resource) => [resource.type as string, resource]))
  const answers = new AnswerSchemas(components, byType)
  const writing: Writing = { components, resources: byType, answers, bodies: new BodySchemas(components, answers) }
  const paths: Record<string, Described> = {}
  for (const route of servedRoutes(router)) {
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(writing, route) }
  }
  return {
    openapi: '3.1.1',
    info: { title: `${brand} API`, version: basePath.split('/').at(-1) },
    servers: [{ url: baseUrl + basePath }],
    tags: resources.map(({ type, about }) => ({ name: type, description: about })),
    paths,
    components: { ...components, securitySchemes },
  }
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A personal access token.' },
  session: { type: 'apiKey', in: 'cookie', name: sessionCookie, description: 'The session of the browser front end.' },
}
