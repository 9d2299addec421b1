import { type Json, type JsonObject, object, objects, text, texts } from './json.ts'
import { Schemas } from './schema.ts'

export const MEDIA_TYPE = 'application/vnd.api+json'

export type Verb = 'list' | 'get' | 'create' | 'update' | 'delete'
export type Change = 'PATCH' | 'POST' | 'DELETE'

export interface Relation {
  name: string
  /** The related type and whether there are many, where known. */
  to?: string
  many?: boolean
  related: boolean
  linkage: boolean
  changes: Set<Change>
}

export interface TargetType {
  name: string
  path: string
  /** Whether an OpenAPI document says what it offers, so that what it does not name is known to be unsupported. */
  described: boolean
  verbs: Set<Verb>
  relations: Map<string, Relation>
  includes: string[]
  sorts: string[]
  /** Names of all declared query parameters of the collection. */
  parameters: string[]
  /** Ids that are known without a look at the collection. */
  ids: string[]
  create?: JsonObject
  update?: JsonObject
}

export interface Description {
  types: TargetType[]
  actions: string[]
  /** Every declared query parameter, with the route that declares it. */
  parameters: { name: string; at: string }[]
  ext: string[]
  profile: string[]
  schemas: Schemas
}

export const newRelation = (name: string): Relation => ({ name, related: false, linkage: false, changes: new Set() })

export const undescribed = (name: string): TargetType => ({
  name,
  path: `/${name}`,
  described: false,
  verbs: new Set(['list', 'get']),
  relations: new Map(),
  includes: [],
  sorts: [],
  parameters: [],
  ids: [],
})

const methods = ['get', 'post', 'patch', 'delete'] as const
type HttpMethod = (typeof methods)[number]

interface Operation {
  method: HttpMethod
  /** The path below the service's own, in segments; a parameter is in braces. */
  segments: string[]
  parameters: JsonObject[]
  body: JsonObject
  response: JsonObject
}

/** Reads what the service says of itself. */
export class OpenApiReader {
  readonly #document: JsonObject
  readonly #schemas: Schemas
  readonly #base: string
  readonly #types = new Map<string, TargetType>()
  readonly #actions: string[] = []

  constructor(document: JsonObject, base: string) {
    this.#document = document
    this.#schemas = new Schemas(document)
    this.#base = base
  }

  read(): Description {
    const operations = this.#operations()
    for (const operation of operations) this.#place(operation)
    return {
      types: [...this.#types.values()].filter(({ verbs }) => verbs.size > 0),
      actions: this.#actions,
      parameters: operations.flatMap(({ method, segments, parameters }) =>
        queryNames(parameters).map((name) => ({ name, at: `${method.toUpperCase()} /${segments.join('/')}` })),
      ),
      ext: this.#mediaTypeParameter('ext'),
      profile: this.#mediaTypeParameter('profile'),
      schemas: this.#schemas,
    }
  }

  #operations(): Operation[] {
    return Object.entries(object(this.#document['paths'])).flatMap(([path, item]) => {
      const shared = objects(object(item)['parameters'])
      return methods.flatMap((method) => {
        const operation = object(object(item)[method])
        if (Object.keys(operation).length === 0) return []
        const parameters = [...shared, ...objects(operation['parameters'])].map((it) => this.#schemas.resolve(it))
        const body = this.#content(operation['requestBody'])
        const response = this.#content(this.#success(operation))
        return [{ method, segments: this.#segmentsOf(path), parameters, body, response }]
      })
    })
  }

  #segmentsOf(path: string): string[] {
    const below = path.startsWith(`${this.#base}/`) ? path.slice(this.#base.length) : path
    return below.split('/').filter(Boolean)
  }

  #success(operation: JsonObject): Json | undefined {
    const found = Object.entries(object(operation['responses'])).find(([status]) => /^2/.test(status))
    return found?.[1]
  }

  #content(holder: Json | undefined): JsonObject {
    const content = object(this.#schemas.resolve(holder)['content'])
    const chosen = content[MEDIA_TYPE] ?? Object.values(content)[0]
    return this.#schemas.resolve(object(chosen)['schema'])
  }

  #place(operation: Operation): void {
    const [name, id, ...rest] = operation.segments
    if (!name || isParameter(name)) return
    if (id === 'actions' || rest[0] === 'actions') this.#placeAction(operation)
    else if (id === undefined) this.#placeCollection(this.#type(name), operation)
    else if (isParameter(id)) this.#placeBelow(this.#type(name), rest, operation)
  }

  #placeBelow(type: TargetType, [kind, name]: string[], operation: Operation): void {
    if (kind === undefined) this.#placeMember(type, operation)
    else if (kind === 'relationships' && name) this.#placeLinkage(type, name, operation)
    else if (!isParameter(kind) && name === undefined && operation.method === 'get')
      this.#relation(type, kind).related = true
  }

  #placeAction({ method, segments }: Operation): void {
    const path = `/${segments.map((segment) => (isParameter(segment) ? '1' : segment)).join('/')}`
    if (method === 'post') this.#actions.push(path)
  }

  #type(name: string): TargetType {
    const type = this.#types.get(name) ?? { ...undescribed(name), described: true, verbs: new Set() }
    this.#types.set(name, type)
    return type
  }

  #relation(type: TargetType, name: string): Relation {
    const relation = type.relations.get(name) ?? newRelation(name)
    type.relations.set(name, relation)
    return relation
  }

  #placeCollection(type: TargetType, { method, parameters, body, response }: Operation): void {
    if (method === 'post' && Object.keys(body).length) {
      type.verbs.add('create')
      type.create = body
    }
    if (method !== 'get') return
    type.verbs.add('list')
    type.parameters = queryNames(parameters)
    type.includes = this.#valuesOf(parameters, 'include')
    type.sorts = this.#valuesOf(parameters, 'sort')
    this.#describeRelations(type, this.#schemas.resolve(this.#schemas.member(response, 'data')['items']))
  }

  #placeMember(type: TargetType, { method, parameters, body, response }: Operation): void {
    const verbs = { get: 'get', patch: 'update', delete: 'delete', post: undefined } as const
    const verb = verbs[method]
    if (verb) type.verbs.add(verb)
    if (method === 'patch') type.update = body
    if (method !== 'get') return
    if (!type.verbs.has('list')) type.includes = this.#valuesOf(parameters, 'include')
    const id = parameters.find((parameter) => parameter['in'] === 'path')
    type.ids = [...texts([id?.['example'] ?? null]), ...this.#schemas.enumeration(id?.['schema'])]
    this.#describeRelations(type, this.#schemas.member(response, 'data'))
  }

  #placeLinkage(type: TargetType, name: string, { method, body }: Operation): void {
    const relation = this.#relation(type, name)
    if (method === 'get') relation.linkage = true
    else relation.changes.add(method.toUpperCase() as Change)
    if (method === 'patch') this.#describeLinkage(relation, this.#schemas.member(body, 'data'))
  }

  #describeRelations(type: TargetType, resource: JsonObject): void {
    const declared = this.#schemas.resolve(object(object(object(this.#document['components'])['schemas'])[type.name]))
    for (const schema of [resource, declared]) {
      for (const [name, relationship] of this.#schemas.properties(this.#schemas.member(schema, 'relationships'))) {
        this.#describeLinkage(this.#relation(type, name), this.#schemas.member(relationship, 'data'))
      }
    }
  }

  #describeLinkage(relation: Relation, data: JsonObject): void {
    if (Object.keys(data).length === 0) return
    const many = data['type'] === 'array' || data['items'] !== undefined
    const identifier = many ? this.#schemas.resolve(data['items']) : data
    const [to] = this.#schemas.enumeration(this.#schemas.member(identifier, 'type'))
    relation.many ??= many
    if (to) relation.to ??= to
  }

  #valuesOf(parameters: JsonObject[], name: string): string[] {
    const schema = object(parameters.find((it) => it['in'] === 'query' && it['name'] === name)?.['schema'])
    return this.#schemas.enumeration(schema)
  }

  /** The URIs of extensions or profiles that a media type of the document names. */
  #mediaTypeParameter(name: 'ext' | 'profile'): string[] {
    const types = JSON.stringify(this.#document).matchAll(/"(application\/vnd\.api\+json;(?:[^"\\]|\\.)*)"/g)
    const values = [...types].flatMap(([, type = '']) => mediaTypeParameter(JSON.parse(`"${type}"`), name))
    return [...new Set(values)]
  }
}

const isParameter = (segment: string) => segment.startsWith('{')

const queryNames = (parameters: JsonObject[]) =>
  parameters.filter((it) => it['in'] === 'query').map((it) => text(it['name']))

/** The URIs in one parameter of a media type. */
export const mediaTypeParameter = (mediaType: string, name: string): string[] =>
  new RegExp(`;\\s*${name}="([^"]*)"`).exec(mediaType)?.[1]?.split(' ').filter(Boolean) ?? []
