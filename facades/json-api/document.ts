import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StreamPosition } from '../../routers/core/response-notes.ts'
import type { Relation, Resource } from '../../routers/resource/declare.ts'
import type { RecordRef } from '../../routers/resource/record.ts'
import type { Page } from '../../routers/verbs/read.ts'
import type { DocumentContext } from './members.ts'
import type { ParsedQuery } from './query.ts'
import { jsonapi, type Route } from './routes.ts'

const PART_SIZE = 250

/**
 * Writes the document for the output of a procedure. A long list is written in parts, which yields to other requests
 * and bounds the memory.
 */
export async function writeDocument(result: RouteResult): Promise<string> {
  const records = listUnpagedRecords(result)
  if (records.length <= PART_SIZE) return JSON.stringify(toDocument(result))
  const { data: _, ...frame } = toDocument(replaceRecords(result, []))
  const parts: string[] = []
  for (let at = 0; at < records.length; at += PART_SIZE) {
    const { data } = buildDocument(replaceRecords(result, records.slice(at, at + PART_SIZE)))
    parts.push(JSON.stringify(data).slice(1, -1))
    await nextTurn()
  }
  return `{"data":[${parts.join()}],${JSON.stringify(frame).slice(1)}`
}

/** Adds the positions in the change log to the document of a write. */
function toDocument(result: RouteResult): Document {
  const document = buildDocument(result)
  const { syncLogMember } = result.documentContext.names
  if (result.route.method !== 'GET') document.meta = { ...document.meta, [syncLogMember]: result.positions }
  return document
}

/** Lists the records of a response that is neither paged nor includes others, which can be written in parts. */
function listUnpagedRecords({ route, query, output }: RouteResult): readonly RecordRef[] {
  if (route.resource.page || route.relation || query.input.include) return []
  const { items, data } = (output ?? {}) as { items?: unknown; data?: unknown }
  const records = items ?? data
  return Array.isArray(records) ? records : []
}

function replaceRecords(result: RouteResult, records: readonly RecordRef[]): RouteResult {
  const output = result.output as object
  return { ...result, output: { ...output, ['items' in output ? 'items' : 'data']: records } }
}

interface RouteResult {
  documentContext: DocumentContext
  route: Route
  query: ParsedQuery
  url: string
  output: unknown
  /** Positions of the written changes. */
  positions: readonly StreamPosition[]
}

/** The output of an action: meta data in addition to a record, or instead of one. */
interface ActionOutput {
  data?: RecordRef | RecordRef[] | null
  meta?: Record<string, unknown>
}

/** Builds the document for the output of a procedure by the kind of its route. */
function buildDocument({ documentContext, route, query, url, output }: RouteResult): Document {
  const { answers, resource, relation } = route
  const sparseFields: SparseFields = { include: query.input.include, fields: query.fields }
  if (answers === 'nothing') return { jsonapi }
  if (answers === 'action') return buildActionDocument(documentContext, resource, output as ActionOutput, sparseFields)
  const target = relation ? (documentContext.resources.get(relation.of.to) as Resource) : resource
  const records = isPage(output) ? output.items : (output as RecordRef | RecordRef[] | null)
  const self =
    answers === 'created'
      ? buildSelfLink(documentContext, resource.type, output as RecordRef)
      : `${documentContext.origin}${url}`
  const pageMembers = isPage(output) && target.page ? buildPageMembers(output, self) : { links: { self } }
  if (answers === 'linkage') return { jsonapi, ...pageMembers, data: toLinkage(target.type, records) }
  return { ...buildResourceDocument(documentContext, target, records, sparseFields), ...pageMembers }
}

function buildActionDocument(
  documentContext: DocumentContext,
  resource: Resource,
  { data, meta }: ActionOutput,
  sparseFields: SparseFields,
): Document {
  const document =
    data === undefined ? { jsonapi } : buildResourceDocument(documentContext, resource, data, sparseFields)
  if (!meta) return document
  const members = Object.entries(meta).map(([name, value]) => [documentContext.members.write(name), value])
  return { ...document, meta: Object.fromEntries(members) }
}

const isPage = (output: unknown): output is Page<RecordRef> =>
  typeof output === 'object' && output !== null && 'items' in output

function toLinkage(type: string, records: RecordRef | RecordRef[] | null) {
  if (Array.isArray(records)) return records.map((record) => toIdentifier(type, record))
  return records && toIdentifier(type, records)
}

/** Builds the links and numbers of a page. */
function buildPageMembers({ items, total, page: { size, number } }: Page<RecordRef>, self: string) {
  const lastPage = Math.max(1, Math.ceil(total / size))
  const before = (number - 1) * size
  const at = (target: number) => buildPageLink(self, target, size)
  return {
    links: {
      self,
      first: at(1),
      prev: number > 1 && number <= lastPage + 1 ? at(number - 1) : null,
      next: number < lastPage ? at(number + 1) : null,
      last: at(lastPage),
    },
    meta: {
      page: {
        currentPage: number,
        from: items.length > 0 ? before + 1 : 0,
        to: items.length > 0 ? before + items.length : 0,
        perPage: size,
        lastPage,
        total,
      },
    },
  }
}

/** Returns the same address for another page. */
function buildPageLink(self: string, number: number, size: number): string {
  const [path, search = ''] = self.split(/\?(.*)/s)
  const parameters = new URLSearchParams(search)
  parameters.set('page[number]', String(number))
  parameters.set('page[size]', String(size))
  return `${path}?${parameters}`
}

interface Identifier {
  type: string
  id: string
}

interface Relationship {
  links: { self: string; related: string }
  data?: Identifier | Identifier[] | null
}

export interface ResourceObject extends Identifier {
  attributes: Record<string, unknown>
  relationships?: Record<string, Relationship>
  links: { self: string }
}

interface Document {
  jsonapi: typeof jsonapi
  links?: Record<string, string | null>
  data?: ResourceObject | ResourceObject[] | Identifier | Identifier[] | null
  included?: ResourceObject[]
  meta?: Record<string, unknown>
}

interface SparseFields {
  include?: readonly string[] | undefined
  fields: ReadonlyMap<string, ReadonlySet<string>>
}

/** Writes the resource object of a record without included resources. */
export const writeRecord = (documentContext: DocumentContext, of: Resource, record: RecordRef): ResourceObject =>
  new DocumentWriter(documentContext, new Map(), undefined).write(of, record)

/** Builds a compound document. Only declared names reach the wire. */
function buildResourceDocument(
  documentContext: DocumentContext,
  of: Resource,
  records: RecordRef | RecordRef[] | null,
  sparseFields: SparseFields,
): Document {
  const rows = Array.isArray(records) ? records : records ? [records] : []
  const compound = sparseFields.include && new IncludedResources(rows.map(({ id }) => `${of.type}/${id}`))
  const writer = new DocumentWriter(documentContext, sparseFields.fields, compound)
  const written = rows.map((row) => writer.write(of, row))
  const data = compound ? written.map(compound.mergeLinkage) : written
  const document: Document = { jsonapi, data: Array.isArray(records) ? data : (data[0] ?? null) }
  if (compound) document.included = [...compound.included.values()]
  return document
}

const toIdentifier = (type: string, { id }: RecordRef): Identifier => ({ type, id })

export const buildSelfLink = ({ baseUrl }: DocumentContext, type: string, { id, addressedAs = id }: RecordRef) =>
  `${baseUrl}/${type}/${encodeURIComponent(addressedAs)}`

/** The resources that include paths reach, and their linkage for primary ones. */
class IncludedResources {
  readonly included = new Map<string, ResourceObject>()
  readonly #reachedPrimary = new Map<string, ResourceObject>()
  readonly #primary: ReadonlySet<string>
  readonly #records = new Set<RecordRef>()

  constructor(primary: readonly string[]) {
    this.#primary = new Set(primary)
  }

  /** Adds a resource once, with the linkage of all paths that reach it. */
  add(key: string, record: RecordRef, write: () => ResourceObject): void {
    if (this.#records.has(record)) return
    this.#records.add(record)
    const object = write()
    const resources = this.#primary.has(key) ? this.#reachedPrimary : this.included
    const known = resources.get(key)
    resources.set(key, known ? merge(known, object) : object)
  }

  /** Adds the linkage of paths that lead back to a primary resource. */
  readonly mergeLinkage = (object: ResourceObject): ResourceObject => {
    const reached = this.#reachedPrimary.get(`${object.type}/${object.id}`)
    return reached ? merge(object, reached) : object
  }
}

class DocumentWriter {
  readonly #context: DocumentContext
  readonly #fields: SparseFields['fields']
  readonly #compound: IncludedResources | undefined

  constructor(
    documentContext: DocumentContext,
    fields: SparseFields['fields'],
    compound: IncludedResources | undefined,
  ) {
    this.#context = documentContext
    this.#fields = fields
    this.#compound = compound
  }

  write(of: Resource, record: RecordRef): ResourceObject {
    const self = buildSelfLink(this.#context, of.type, record)
    const fields = this.#fields.get(of.type)
    const attributes: Record<string, unknown> = {}
    const names = this.#context.members.mapAttributes(of)
    for (const name in of.attributes) {
      const value = (record as unknown as Record<string, unknown>)[name]
      if (value === undefined || (fields && !fields.has(name))) continue
      const [member, writtenValue] = names.writeMember(name, value)
      attributes[member] = writtenValue
    }
    const linkedNames = this.#context.members.mapLinked(of)
    for (const name in linkedNames)
      if (!fields || fields.has(name)) attributes[linkedNames[name] as string] = readNumber(record.relations?.[name])
    const object: ResourceObject = { type: of.type, id: record.id, attributes, links: { self } }
    const relationships = this.#relationships(of, record, self, fields)
    return relationships ? { ...object, relationships } : object
  }

  #relationships({ relations }: Resource, record: RecordRef, self: string, fields: ReadonlySet<string> | undefined) {
    let relationships: Record<string, Relationship> | undefined
    for (const name in relations) {
      const linked = record.relations?.[name]
      const data = linked === undefined ? undefined : this.#link(relations[name] as Relation, linked)
      if (fields && !fields.has(name)) continue
      const member = this.#context.members.write(name)
      const links = { self: `${self}/relationships/${member}`, related: `${self}/${member}` }
      relationships ??= {}
      relationships[member] = data === undefined ? { links } : { links, data }
    }
    return relationships
  }

  #link({ to }: Relation, linked: RecordRef | RecordRef[] | null): Identifier | Identifier[] | null {
    if (linked === null) return null
    if (!Array.isArray(linked)) return this.#linkOne(to, linked)
    return linked.map((record) => this.#linkOne(to, record))
  }

  #linkOne(to: string, record: RecordRef): Identifier {
    const resource = this.#compound && isRecord(record) ? this.#context.resources.get(to) : undefined
    if (resource) this.#compound?.add(`${to}/${record.id}`, record, () => this.write(resource, record))
    return { type: to, id: record.id }
  }
}

const readNumber = (linked: RecordRef | RecordRef[] | null | undefined) =>
  linked && !Array.isArray(linked) ? Number(linked.id) : null

/** Returns true for a record; a link has only an id. */
const isRecord = (record: RecordRef) => record.relations !== undefined

function merge(known: ResourceObject, object: ResourceObject): ResourceObject {
  const relationships = { ...known.relationships }
  for (const [name, relationship] of Object.entries(object.relationships ?? {})) {
    if (relationship.data !== undefined) relationships[name] = relationship
  }
  return Object.keys(relationships).length > 0 ? { ...known, relationships } : known
}
