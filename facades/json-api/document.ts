import type { Relation, Resource } from '../../routers/resource/declare.ts'
import type { RecordRef } from '../../routers/resource/record.ts'
import type { WireNames } from '../http/names.ts'
import type { Members } from './members.ts'
import { jsonapi } from './wire.ts'

export interface Identifier {
  type: string
  id: string
}

interface Relationship {
  links: { self: string; related: string }
  data?: Identifier | Identifier[] | null
}

interface ResourceObject extends Identifier {
  attributes: Record<string, unknown>
  relationships?: Record<string, Relationship>
  links: { self: string }
}

export interface Document {
  jsonapi: typeof jsonapi
  links?: Record<string, string | null>
  data?: ResourceObject | ResourceObject[] | Identifier | Identifier[] | null
  included?: ResourceObject[]
  meta?: Record<string, unknown>
}

/** What a document is written with. */
export interface DocumentContext {
  resources: ReadonlyMap<string, Resource>
  members: Members
  names: WireNames
  /** The address of the service, and of its types, in front of every link. */
  origin: string
  baseUrl: string
}

export interface SparseFields {
  include?: readonly string[] | undefined
  fields: ReadonlyMap<string, ReadonlySet<string>>
}

/** Turns what a procedure returned into a compound document. Only declared names reach the wire. */
export function encode(
  documentContext: DocumentContext,
  of: Resource,
  records: RecordRef | RecordRef[] | null,
  sparseFields: SparseFields,
): Document {
  const rows = Array.isArray(records) ? records : records ? [records] : []
  const compound = sparseFields.include && new Compound(rows.map(({ id }) => `${of.type}/${id}`))
  const writer = new DocumentWriter(documentContext, sparseFields.fields, compound)
  const written = rows.map((row) => writer.write(of, row))
  const data = compound ? written.map(compound.whole) : written
  const document: Document = { jsonapi, data: Array.isArray(records) ? data : (data[0] ?? null) }
  if (compound) document.included = [...compound.included.values()]
  return document
}

export const identify = (type: string, { id }: RecordRef): Identifier => ({ type, id })

export const selfOf = ({ baseUrl }: DocumentContext, type: string, { id, addressedAs = id }: RecordRef) =>
  `${baseUrl}/${type}/${encodeURIComponent(addressedAs)}`

/** The resources that paths lead to, and what they add to the primary ones. */
class Compound {
  readonly included = new Map<string, ResourceObject>()
  readonly #reached = new Map<string, ResourceObject>()
  readonly #primary: ReadonlySet<string>
  readonly #added = new Set<RecordRef>()

  constructor(primary: readonly string[]) {
    this.#primary = new Set(primary)
  }

  /** A resource that several paths reach is written once, with the linkage of all of them. */
  add(key: string, record: RecordRef, write: () => ResourceObject): void {
    if (this.#added.has(record)) return
    this.#added.add(record)
    const object = write()
    const held = this.#primary.has(key) ? this.#reached : this.included
    const known = held.get(key)
    held.set(key, known ? merge(known, object) : object)
  }

  /** A primary resource with the linkage of the paths that led back to it. */
  readonly whole = (object: ResourceObject): ResourceObject => {
    const reached = this.#reached.get(`${object.type}/${object.id}`)
    return reached ? merge(object, reached) : object
  }
}

class DocumentWriter {
  readonly #context: DocumentContext
  readonly #fields: SparseFields['fields']
  readonly #compound: Compound | undefined

  constructor(documentContext: DocumentContext, fields: SparseFields['fields'], compound: Compound | undefined) {
    this.#context = documentContext
    this.#fields = fields
    this.#compound = compound
  }

  write(of: Resource, record: RecordRef): ResourceObject {
    const self = selfOf(this.#context, of.type, record)
    const fields = this.#fields.get(of.type)
    const attributes: Record<string, unknown> = {}
    const names = this.#context.members.attributesOf(of)
    for (const name in of.attributes) {
      const value = (record as unknown as Record<string, unknown>)[name]
      if (value === undefined || (fields && !fields.has(name))) continue
      const [member, shown] = names.writeMember(name, value)
      attributes[member] = shown
    }
    const linked = this.#context.members.linkedOf(of)
    for (const name in linked)
      if (!fields || fields.has(name)) attributes[linked[name] as string] = numberOf(record.relations?.[name])
    const object: ResourceObject = { type: of.type, id: record.id, attributes, links: { self } }
    const relationships = this.#relationships(of, record, self, fields)
    return relationships ? { ...object, relationships } : object
  }

  #relationships({ relations }: Resource, record: RecordRef, self: string, fields: ReadonlySet<string> | undefined) {
    let relationships: Record<string, Relationship> | undefined
    for (const name in relations) {
      const held = record.relations?.[name]
      const data = held === undefined ? undefined : this.#link(relations[name] as Relation, held)
      if (fields && !fields.has(name)) continue
      const member = this.#context.members.write(name)
      const links = { self: `${self}/relationships/${member}`, related: `${self}/${member}` }
      relationships ??= {}
      relationships[member] = data === undefined ? { links } : { links, data }
    }
    return relationships
  }

  #link({ to }: Relation, held: RecordRef | RecordRef[] | null): Identifier | Identifier[] | null {
    if (held === null) return null
    if (!Array.isArray(held)) return this.#linkOne(to, held)
    return held.map((record) => this.#linkOne(to, record))
  }

  #linkOne(to: string, record: RecordRef): Identifier {
    const resource = this.#compound && isWhole(record) ? this.#context.resources.get(to) : undefined
    if (resource) this.#compound?.add(`${to}/${record.id}`, record, () => this.write(resource, record))
    return { type: to, id: record.id }
  }
}

const numberOf = (held: RecordRef | RecordRef[] | null | undefined) =>
  held && !Array.isArray(held) ? Number(held.id) : null

/** More than a link: links have nothing but an id. */
const isWhole = (record: RecordRef) => record.relations !== undefined

function merge(known: ResourceObject, object: ResourceObject): ResourceObject {
  const relationships = { ...known.relationships }
  for (const [name, relationship] of Object.entries(object.relationships ?? {})) {
    if (relationship.data !== undefined) relationships[name] = relationship
  }
  return Object.keys(relationships).length > 0 ? { ...known, relationships } : known
}
