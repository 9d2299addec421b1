import type { AnyTRPCRouter } from '@trpc/server'
import type { Resource } from '../../../routers/resource/declare.ts'
import type { WireNames } from '../../http/names.ts'
import type { Described } from '../../http/openapi/schema.ts'
import { servedRoutes } from '../exposed-routes.ts'
import { declaredMembers, type Members } from '../members.ts'
import { BodySchemas } from './bodies.ts'
import { Components } from './components.ts'
import { describeOperation, type Writing } from './operations.ts'
import { AnswerSchemas } from './schemas.ts'

export interface JsonApiDescription {
  components: Components
  tags: Described[]
  paths: Record<string, Described>
}

/** Everything that the JSON:API surface offers, as the parts of an OpenAPI document. */
export function describeJsonApi(
  router: AnyTRPCRouter,
  resources: readonly Resource[],
  names: WireNames,
  members: Members = declaredMembers,
): JsonApiDescription {
  const components = new Components(members, names)
  const byType = new Map(resources.map((resource) => [resource.type as string, resource]))
  const answers = new AnswerSchemas(components, byType)
  const writing: Writing = { components, resources: byType, answers, bodies: new BodySchemas(components, answers) }
  const paths: Record<string, Described> = {}
  for (const route of servedRoutes(router, members)) {
    const path = names.basePath + route.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeOperation(writing, route) }
  }
  return { components, tags: resources.map(({ type, about }) => ({ name: type, description: about })), paths }
}

export const securitySchemes = ({ sessionCookie }: WireNames) => ({
  bearer: { type: 'http', scheme: 'bearer', description: 'A personal access token.' },
  session: { type: 'apiKey', in: 'cookie', name: sessionCookie, description: 'The session of the browser front end.' },
})
