import type { AnyTRPCRouter } from '@trpc/server'
import type { Resource } from '../../routers/resource/declare.ts'
import type { WireNames } from '../http/names.ts'
import type { Endpoint } from '../http/openapi/endpoint.ts'
import type { Described } from '../http/openapi/schema.ts'
import type { OlderRoute } from '../http/procedures.ts'
import type { Members } from '../json-api/members.ts'
import type { ComponentKind, Components } from '../json-api/openapi/components.ts'
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
  const allPaths = { ...others.paths, ...earlier.paths, ...paths }
  return {
    openapi: '3.1.1',
    info: {
      title: `${names.brand} API`,
      version: 'v1',
      description: introduction(names, baseUrl, guides),
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'Whoever runs this service' },
    },
    servers: [{ url: baseUrl || '/' }],
    tags: [...others.tags, ...earlier.tags, ...tags],
    paths: allPaths,
    components: { ...componentsUsed(components, allPaths), securitySchemes: securitySchemes(names) },
  }
}

/** Leaves out what no operation refers to: some endpoints describe their answers in words of their own. */
function componentsUsed(components: Components, paths: object): Record<ComponentKind, Record<string, Described>> {
  const used: Record<ComponentKind, Record<string, Described>> = { schemas: {}, parameters: {}, responses: {} }
  const follow = (value: unknown): void => {
    for (const [, kind = '', name = ''] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
      const [all, found] = [components[kind as ComponentKind], used[kind as ComponentKind]]
      if (Object.hasOwn(found, name)) continue
      found[name] = all[name] ?? {}
      follow(found[name])
    }
  }
  follow(paths)
  return used
}
