import type { Resource } from '../../../routers/resource/declare.ts'
import { relatedInput } from '../../../routers/verbs/read.ts'
import type { ObjectSchema } from '../../http/openapi/schema.ts'
import { inputsOf } from '../../http/procedures.ts'
import type { ServedRoute } from '../exposed-routes.ts'
import type { Components } from './components.ts'

/** The input of the procedure that a route calls, as one object. */
export function describeInput(components: Components, { procedure }: ServedRoute): ObjectSchema {
  const parts = inputsOf(procedure).map((schema) => components.fromZod(schema, 'input'))
  return {
    ...parts.at(-1),
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required = [] }) => required),
  }
}

/** Whether a route changes a row only in the version that the caller has seen. */
export const insistsOn = (components: Components, route: ServedRoute) =>
  'ifVersion' in (describeInput(components, route).properties ?? {})

/** The schema of the input that a route makes from its query string. */
export function describeQuery(components: Components, route: ServedRoute, target: Resource): ObjectSchema {
  const { method, relation } = route
  if (method !== 'GET') return {}
  return relation ? components.fromZod(relatedInput(relation.of, target), 'input') : describeInput(components, route)
}
