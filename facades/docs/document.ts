import type { AnyTRPCRouter } from '@trpc/server'
import type { Resource } from '../../routers/resource/declare.ts'
import type { WireNames } from '../http/names.ts'
import type { Endpoint } from '../http/openapi/endpoint.ts'
import type { Described } from '../http/openapi/schema.ts'
import type { OlderRoute } from '../http/procedures.ts'
import type { Members } from '../json-api/members.ts'
import { describeJsonApi, securitySchemes } from '../json-api/openapi/index.ts'
import { describeEndpoints } from './endpoints.ts'
import type { Guide } from './guides.ts'
import { introduction } from './introduction.ts'
import { describeOlder } from './older-routes.ts'

export interface OpenApiOptions {
  router: AnyTRPCRouter
  resources: readonly Resource[]
  names: WireNames
  /** The public address; empty where documents name no host. */
  baseUrl: string
  members?: Members
  /** What faces serve outside JSON:API. */
  endpoints?: readonly Endpoint[]
  /** Routes of front ends that exist. */
  older?: readonly OlderRoute[]
  guides?: readonly Guide[]
}

/** What programs can ask of the service, as OpenAPI describes it. */
export function openApiDocument(options: OpenApiOptions): Described {
  const { router, resources, names, baseUrl, members, endpoints = [], older = [], guides = [] } = options
  const { components, tags, paths } = describeJsonApi(router, resources, names, members)
  const others = describeEndpoints(endpoints, router, components)
  const earlier = describeOlder(older, components)
  const { schemas, parameters, responses } = components
  return {
    openapi: '3.1.1',
    info: { title: `${names.brand} API`, version: 'v1', description: introduction(names, baseUrl, guides) },
    servers: [{ url: baseUrl || '/' }],
    tags: [...others.tags, ...earlier.tags, ...tags],
    paths: { ...others.paths, ...earlier.paths, ...paths },
    components: { schemas, parameters, responses, securitySchemes: securitySchemes(names) },
  }
}
