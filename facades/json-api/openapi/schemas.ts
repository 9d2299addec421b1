import { z } from 'zod'
import type { Relation, Resource } from '../../../routers/resource/declare.ts'
import { constant, describeList, describeObject, type JsonObject, nullable, text } from '../../http/openapi.ts'
import { jsonapi } from '../routes.ts'
import type { Components } from './components.ts'

type Resources = ReadonlyMap<string, Resource>

const whole = { type: 'integer', minimum: 0 }

/** A position in a stream of the change log. */
const position = describeObject({ stream: text, epoch: text, seq: whole })

/** Lists the types that include paths can reach. */
export function listReachableTypes(of: Resource, resources: Resources): Resource[] {
  const reached = of.includes.flatMap((path) => {
    const types: Resource[] = []
    path.split('.').reduce<Resource | undefined>((from, name) => {
      const next = resources.get(from?.relations[name]?.to ?? '')
      if (next) types.push(next)
      return next
    }, of)
    return types
  })
  return [...new Set(reached)]
}

/** Schemas of responses by their content. */
export class AnswerSchemas {
  readonly #components: Components
  readonly #resources: Resources

  constructor(components: Components, resources: Resources) {
    this.#components = components
    this.#resources = resources
  }

  one(of: Resource): JsonObject {
    return this.#document(of, 'document', this.resource(of))
  }

  oneOrNone(of: Resource): JsonObject {
    return this.#document(of, 'optional', nullable(this.resource(of)))
  }

  collection(of: Resource): JsonObject {
    return this.#document(of, 'collection', describeList(this.resource(of)))
  }

  /** Describes linkage, in pages if it is read. */
  linkage({ to, many }: Relation, isRead: boolean): JsonObject {
    const identifier = this.identifier(to)
    if (!many) return this.#components.use('schemas', `${to}.linkage`, () => this.#top(nullable(identifier)))
    const kind = isRead ? 'linkage-page' : 'linkage-list'
    const paged = isRead ? this.#resources.get(to) : undefined
    return this.#components.use('schemas', `${to}.${kind}`, () => this.#top(describeList(identifier), paged))
  }

  /** Describes the response of an action, which may be anything. */
  action(of: Resource): JsonObject {
    const data = { anyOf: [this.resource(of), describeList(this.resource(of)), { type: 'null' }] }
    return describeObject({ jsonapi: this.#version(), data, meta: { type: 'object' } }, ['data', 'meta'])
  }

  /** Adds the members of every response to a write. */
  describeChange(answer?: JsonObject): JsonObject {
    const { syncLogMember } = this.#components.names
    const log = this.#components.use('schemas', 'changed', () =>
      describeObject({ jsonapi: this.#version(), meta: describeObject({ [syncLogMember]: describeList(position) }) }),
    )
    return answer ? { allOf: [answer, log] } : log
  }

  errors(): JsonObject {
    return this.#components.use('schemas', 'errors', () => {
      const source = { type: 'object', properties: { pointer: text, parameter: text, header: text } }
      const meta = describeObject({ requestId: text, position: text }, ['position'])
      const error = describeObject({ status: text, code: text, title: text, detail: text, source, meta }, [
        'detail',
        'source',
      ])
      return describeObject({ jsonapi: this.#version(), errors: describeList(error) })
    })
  }

  identifier(type: string): JsonObject {
    return this.#components.use('schemas', `${type}.identifier`, () =>
      describeObject({ type: constant(type), id: text }),
    )
  }

  resource(of: Resource): JsonObject {
    return this.#components.use('schemas', of.type, () => {
      const relations = Object.entries(of.relations)
      const links = relations.map(([name, relation]) => [
        this.#components.members.write(name),
        this.#relationship(relation),
      ])
      // Any of them may be omitted by `fields`.
      const relationships = { type: 'object', properties: Object.fromEntries(links) }
      const parts = {
        type: constant(of.type),
        id: text,
        attributes: this.#attributes(of),
        ...(relations.length > 0 && { relationships }),
        links: describeObject({ self: text }),
      }
      return { description: of.about, ...describeObject(parts, ['relationships']) }
    })
  }

  #attributes({ type, attributes }: Resource): JsonObject {
    const shape = Object.entries(attributes).map(([name, { schema, only }]) => {
      const known = only ? schema.describe(`${schema.description ?? ''} Only administrators get it.`.trim()) : schema
      return [name, known.optional()]
    })
    // Members may be added in the future.
    const schema = this.#components.fromZod(z.looseObject(Object.fromEntries(shape)), 'output')
    return this.#components.members.schema(schema, type)
  }

  #relationship({ to, many }: Relation): JsonObject {
    const links = this.#components.use('schemas', 'relationship-links', () =>
      describeObject({ self: text, related: text }),
    )
    const identifier = this.identifier(to)
    return describeObject({ links, data: many ? describeList(identifier) : nullable(identifier) }, many ? ['data'] : [])
  }

  #document(of: Resource, kind: string, data: JsonObject): JsonObject {
    return this.#components.use('schemas', `${of.type}.${kind}`, () => {
      const included = listReachableTypes(of, this.#resources).map((type) => this.resource(type))
      const top = this.#top(data, kind === 'collection' ? of : undefined)
      if (included.length > 0)
        top.properties['included'] = describeList(
          included.length === 1 ? (included[0] as JsonObject) : { anyOf: included },
        )
      return top
    })
  }

  #top(data: JsonObject, paged?: Resource) {
    const { links, meta } = paged?.page ? this.#page() : { links: describeObject({ self: text }), meta: undefined }
    const properties = { jsonapi: this.#version(), links, data, ...(meta && { meta }) }
    return { ...describeObject(properties), properties: properties as Record<string, JsonObject> }
  }

  #page() {
    const links = this.#components.use('schemas', 'page-links', () =>
      describeObject({ self: text, first: text, prev: nullable(text), next: nullable(text), last: text }),
    )
    const meta = this.#components.use('schemas', 'page-meta', () =>
      describeObject({
        page: describeObject({
          currentPage: whole,
          from: whole,
          to: whole,
          perPage: whole,
          lastPage: whole,
          total: whole,
        }),
      }),
    )
    return { links, meta }
  }

  #version(): JsonObject {
    return this.#components.use('schemas', 'jsonapi', () => describeObject({ version: constant(jsonapi.version) }))
  }
}
