import type { AnyTRPCRouter } from '@trpc/server'
import { brand } from '../../routers/core/brand.ts'
import type { Resource } from '../../routers/resource/declare.ts'
import { basePath } from '../http/names.ts'
import type { Described } from '../json-api/openapi/components.ts'
import { describeJsonApi, securitySchemes } from '../json-api/openapi/index.ts'
import { introduction } from './introduction.ts'
import { describePlain } from './plain-operations.ts'

export interface OpenApiOptions {
  router: AnyTRPCRouter
  resources: readonly Resource[]
  /** The public address; empty where documents name no host. */
  baseUrl: string
}

/** What programs can ask of the service, as OpenAPI describes it. */
export function openApiDocument({ router, resources, baseUrl }: OpenApiOptions): Described {
  const { components, tags, paths } = describeJsonApi(router, resources)
  const plain = describePlain(router, components)
  return {
    openapi: '3.1.1',
    info: { title: `${brand} API`, version: basePath.split('/').at(-1), description: introduction(baseUrl) },
    servers: [{ url: baseUrl || '/' }],
    tags: [...plain.tags, ...tags],
    paths: { ...plain.paths, ...paths },
    components: { ...components, securitySchemes },
  }
}
