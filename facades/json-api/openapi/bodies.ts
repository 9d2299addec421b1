import type { Relation, Resource } from '../../../routers/resource/declare.ts'
import { buildRelatedInput } from '../../../routers/verbs/read.ts'
import { constant, describeList, describeObject, nullable, type ObjectSchema, text } from '../../http/openapi.ts'
import { inputsOf } from '../../http/procedures.ts'
import { formType, mediaType, type ServedRoute } from '../routes.ts'
import type { Components } from './components.ts'
import type { AnswerSchemas } from './schemas.ts'

/** Describes the input of a route's procedure as one object. */
export function describeInput(components: Components, { procedure }: ServedRoute): ObjectSchema {
  const parts = inputsOf(procedure).map((schema) => components.fromZod(schema, 'input'))
  return {
    ...parts.at(-1),
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required = [] }) => required),
  }
}

/** Returns true if a route requires the version of a row. */
export const needsVersion = (components: Components, route: ServedRoute) =>
  'ifVersion' in (describeInput(components, route).properties ?? {})

/** Describes the input that a route reads from its query string. */
export function describeQuery(components: Components, route: ServedRoute, target: Resource): ObjectSchema {
  const { method, relation } = route
  if (method !== 'GET') return {}
  return relation
    ? components.fromZod(buildRelatedInput(relation.of, target), 'input')
    : describeInput(components, route)
}

/** Input members from the address and the headers. */
const addressMembers = ['id', 'ifVersion']

/** Picks members of an object schema. */
function pickPart(schema: ObjectSchema, isPart: (name: string) => boolean): ObjectSchema {
  const { properties = {}, required = [], ...rest } = schema
  const part = Object.entries(properties).filter(([name]) => isPart(name))
  const needed = required.filter(isPart)
  return { ...rest, ...(needed.length > 0 && { required: needed }), properties: Object.fromEntries(part) }
}

/** Body schemas by media type. */
type BodyContent = Record<string, ObjectSchema>

/** Describes the bodies of a route by media type; undefined if it takes none. */
export class BodySchemas {
  readonly #components: Components
  readonly #answers: AnswerSchemas

  constructor(components: Components, answers: AnswerSchemas) {
    this.#components = components
    this.#answers = answers
  }

  describe(route: ServedRoute): BodyContent | undefined {
    const { method, answers, relation, hasFile } = route
    if (method === 'GET' || answers === 'nothing') return undefined
    if (answers === 'linkage' && relation)
      return { [mediaType]: describeObject({ data: describeList(this.#answers.identifier(relation.of.to)) }) }
    const input = describeInput(this.#components, route)
    if (hasFile) return { [formType]: this.#form(input) }
    return answers === 'action' ? this.#action(route, input) : { [mediaType]: this.#resource(route, input) }
  }

  #action({ resource }: ServedRoute, input: ObjectSchema) {
    const plain = this.#components.members.schema(pickPart(input, (name) => name !== 'id'))
    const document = describeObject({ data: describeObject({ type: constant(resource.type), attributes: plain }) })
    return { [mediaType]: document, 'application/json': plain }
  }

  /** Describes a form; the name comes from the file. */
  #form(input: ObjectSchema): ObjectSchema {
    const { properties = {} } = this.#components.members.schema(pickPart(input, (name) => name !== 'name'))
    const file = { type: 'string', format: 'binary', description: 'The file, as the last part of the form.' }
    return describeObject({ ...properties, file }, Object.keys(properties))
  }

  #resource({ resource, method }: ServedRoute, input: ObjectSchema): ObjectSchema {
    const { type, relations } = resource
    const { members } = this.#components
    const own = pickPart(input, (name) => !addressMembers.includes(name) && !(name in relations))
    const attributes = members.schema(own, type)
    const { properties = {}, required = [] } = pickPart(input, (name) => name in relations)
    const links = Object.keys(properties).map((name) => [
      members.write(name),
      this.#link(relations[name] as Relation, properties[name]),
    ])
    const relationships = describeObject(
      Object.fromEntries(links),
      Object.keys(properties)
        .filter((name) => !required.includes(name))
        .map((name) => members.write(name)),
    )
    const parts = {
      type: constant(type),
      ...(method === 'PATCH' && { id: text }),
      attributes,
      ...(links.length > 0 && { relationships }),
    }
    const optional = Object.entries({ attributes, relationships }).filter(([, { required }]) => !required)
    return describeObject({
      data: describeObject(
        parts,
        optional.map(([name]) => name),
      ),
    })
  }

  #link({ to, many }: Relation, input: ObjectSchema | undefined): ObjectSchema {
    const identifier = this.#answers.identifier(to)
    const isNullable = JSON.stringify(input).includes('"null"')
    const { description } = input ?? {}
    const data = many ? describeList(identifier) : isNullable ? nullable(identifier) : identifier
    return { ...(description !== undefined && { description }), ...describeObject({ data }) }
  }
}
