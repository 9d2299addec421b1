import type { AnyTRPCRouter } from '@trpc/server'
import type { Resource } from '../../routers/resource/declare.ts'
import type { WireNames } from '../http/names.ts'
import type { OlderRoute } from '../http/procedures.ts'
import type { Members } from '../json-api/members.ts'
import type { Described } from '../json-api/openapi/components.ts'
import { describeJsonApi, securitySchemes } from '../json-api/openapi/index.ts'
import { introduction } from './introduction.ts'
import { describeOlder } from './older-routes.ts'
import { describePlain } from './plain-operations.ts'

export interface OpenApiOptions {
  router: AnyTRPCRouter
  resources: readonly Resource[]
  names: WireNames
  /** The public address; empty where documents name no host. */
  baseUrl: string
  members?: Members
  /** Routes of front ends that exist. */
  older?: readonly OlderRoute[]
}

/** What programs can ask of the service, as OpenAPI describes it. */
export function openApiDocument({ router, resources, names, baseUrl, members, older = [] }: OpenApiOptions): Described {
  const { components, tags, paths } = describeJsonApi(router, resources, names, members)
  const plain = describePlain(router, components)
  const earlier = describeOlder(older, components)
  const { schemas, parameters, responses } = components
  return {
    openapi: '3.1.1',
    info: { title: `${names.brand} API`, version: 'v1', description: introduction(names, baseUrl) },
    servers: [{ url: baseUrl || '/' }],
    tags: [...plain.tags, ...earlier.tags, ...tags],
    paths: { ...plain.paths, ...earlier.paths, ...paths },
    components: { schemas, parameters, responses, securitySchemes: securitySchemes(names) },
  }
}
