import { type Api, type Change, newRelation, type Relation, type TargetType, undescribed } from '../api.ts'
import { type JsonObject, object, text, texts } from '../json.ts'
import { mediaTypeParameter } from '../media-type.ts'
import { type Operation, readOperations } from './operations.ts'
import { Schemas } from './schema.ts'
import { creationFrom, updateFrom } from './writes.ts'

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

  read(): Api {
    const operations = readOperations(this.#document, this.#schemas, this.#base)
    for (const operation of operations) this.#place(operation)
    return {
      types: [...this.#types.values()].filter(({ verbs }) => verbs.size > 0),
      actions: this.#actions,
      parameters: operations.flatMap(({ method, segments, parameters, isPlain }) =>
        queryNames(isPlain ? [] : parameters).map((name) => ({
          name,
          at: `${method.toUpperCase()} /${segments.join('/')}`,
        })),
      ),
      ext: this.#mediaTypeParameter('ext'),
      profile: this.#mediaTypeParameter('profile'),
    }
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
      type.create = creationFrom(this.#schemas, body)
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
    if (method === 'patch') type.update = updateFrom(this.#schemas, body)
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
