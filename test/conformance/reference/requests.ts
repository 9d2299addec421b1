import type { IncomingHttpHeaders } from 'node:http'
import { type Json, type JsonObject, object } from '../json.ts'
import type { Broken } from './breakages.ts'
import { Writer } from './document.ts'
import { Reader } from './input.ts'
import { type Relation, type Row, type Store, type Type, types } from './model.ts'
import { type Query, readQuery, type Takes } from './query.ts'
import { Refusal } from './refusal.ts'

export interface ApiRequest {
  method: string
  /** The segments of the path below the base, decoded. */
  segments: string[]
  url: URL
  headers: IncomingHttpHeaders
  body: Json | undefined
}

export interface Reply {
  status: number
  document?: Json
  headers?: Record<string, string>
}

const missing = () => new Refusal(404, 'not_found')
const forbidden = () => new Refusal(403, 'forbidden')

/** Answers requests by the standard, except for the configured defect. */
export class Requests {
  readonly #store: Store
  readonly #broken: Broken
  readonly #writer: Writer
  readonly #reader: Reader

  constructor(store: Store, base: string, broken: Broken) {
    this.#store = store
    this.#broken = broken
    this.#writer = new Writer(store, base, broken)
    this.#reader = new Reader(store, broken)
  }

  answer(request: ApiRequest): Reply {
    const [name = '', id, ...rest] = request.segments
    const type = types[name]
    if (!type) throw missing()
    if (id === undefined) return this.#collection(name, type, request)
    const row = this.#store.find(name, id)
    if (row) return this.#below(row, type, rest, request)
    const isShown = this.#broken('missing-as-null') && rest.length === 0 && request.method === 'GET'
    if (isShown) return { status: 200, document: { data: null } }
    throw missing()
  }

  #below(row: Row, type: Type, [kind, ...rest]: string[], request: ApiRequest): Reply {
    if (kind === undefined) return this.#member(type, row, request)
    const name = kind === 'relationships' ? (rest[0] ?? '') : kind
    const relation = type.relations[name]
    if (!relation) throw missing()
    return kind === name
      ? this.#related(row, name, relation, request)
      : this.#relationship(row, name, relation, request)
  }

  #query({ url }: ApiRequest, takes: Takes): Query {
    const [, name] = /fields%5B(\w+)%5D/i.exec(url.search) ?? []
    if (name && this.#broken('encoded-brackets-unknown'))
      throw new Refusal(400, 'invalid_query', { parameter: `fields[${name}]` })
    return readQuery(url.searchParams, takes, this.#broken)
  }

  #collection(name: string, type: Type, request: ApiRequest): Reply {
    if (request.method === 'POST') return this.#create(name, type, request)
    const query = this.#query(request, { type, kind: 'collection' })
    const rows = sorted(
      this.#store.all(name),
      this.#broken('ignores-minus') ? query.sort.map((it) => it.replace('-', '')) : query.sort,
    )
    return { status: 200, document: this.#page(rows, type, query, request.url) }
  }

  #page(rows: Row[], { pageSize }: Type, query: Query, url: URL): JsonObject {
    const first = (query.page - 1) * query.size
    const shown = rows.slice(Math.max(0, first - (this.#broken('pages-overlap') ? 1 : 0)), first + query.size)
    const document = this.#writer.write(shown, true, query)
    if (!pageSize) return { ...document, links: { self: url.href } }
    const last = Math.max(1, Math.ceil(rows.length / query.size))
    const at = (page: number) => this.#pageLink(url, page, query.size)
    const next =
      query.page < last || this.#broken('next-on-last-page')
        ? at(query.page + (this.#broken('skips-page') ? 2 : 1))
        : null
    return {
      ...document,
      links: { self: url.href, first: at(1), last: at(last), prev: query.page > 1 ? at(query.page - 1) : null, next },
    }
  }

  #pageLink(url: URL, page: number, size: number): string {
    const link = new URL(url)
    link.searchParams.set('page[number]', String(page))
    link.searchParams.set('page[size]', String(size))
    return link.href
  }

  #create(name: string, type: Type, { body }: ApiRequest): Reply {
    if (type.readOnly) throw forbidden()
    const data = this.#reader.resource(name, body)
    const id = this.#reader.ownId(name, data) ?? this.#store.newId()
    const fresh = {
      type: name,
      id,
      attributes: { ...blank(type), ...this.#reader.attributes(type, data) },
      links: emptyLinks(type),
    }
    const row = { ...fresh, links: this.#linksOf(fresh, type, data) }
    this.#store.add(row)
    const document = this.#writer.write([row], false, noQuery)
    return { status: 201, document, headers: { location: this.#writer.selfOf(row) } }
  }

  #linksOf(fresh: Row, type: Type, data: JsonObject): Row['links'] {
    try {
      return { ...fresh.links, ...this.#reader.links(type, data, fresh.id) }
    } catch (cause) {
      if (this.#broken('takes-half')) this.#store.add({ ...fresh })
      throw cause
    }
  }

  #member(type: Type, row: Row, request: ApiRequest): Reply {
    if (request.method === 'GET') {
      const query = this.#query(request, { type, kind: 'resource' })
      return { status: 200, document: this.#writer.write([row], this.#broken('single-as-array'), query) }
    }
    if (type.readOnly) throw forbidden()
    if (request.method === 'PATCH') return this.#update(type, row, request)
    this.#store.remove(row)
    return { status: 200, document: { meta: { isGone: true } } }
  }

  #update(type: Type, row: Row, { body }: ApiRequest): Reply {
    const data = this.#reader.resource(row.type, body)
    if (typeof data['id'] !== 'string') throw new Refusal(422, 'invalid_document', { pointer: '/data' })
    if (data['id'] !== row.id) throw new Refusal(409, 'wrong_id', { pointer: '/data/id' })
    const attributes = this.#reader.attributes(type, data)
    if (this.#broken('takes-half')) Object.assign(row.attributes, attributes)
    const links = this.#reader.links(type, data)
    if (this.#broken('nulls-missing'))
      row.attributes = Object.fromEntries(Object.keys(row.attributes).map((name) => [name, null]))
    Object.assign(row.attributes, attributes)
    Object.assign(row.links, links)
    return { status: 200, document: this.#writer.write([row], false, noQuery) }
  }

  #related(row: Row, name: string, { to, many }: Relation, request: ApiRequest): Reply {
    const type = types[to]
    if (!type) throw missing()
    const rows = this.#store.related(row, name)
    if (rows.length === 0 && !many && this.#broken('empty-to-one-404')) throw missing()
    const query = this.#query(request, { type: { ...type, sorts: [], pageSize: 0 }, kind: 'resource' })
    return { status: 200, document: this.#writer.write(rows, Boolean(many), query) }
  }

  #relationship(row: Row, name: string, relation: Relation, request: ApiRequest): Reply {
    if (request.method === 'GET') {
      const { pageSize } = relation
      const type = { attributes: {}, relations: {}, includes: [], sorts: [], ...(pageSize && { pageSize }) }
      const { page } = this.#query(request, { type, kind: 'linkage' })
      return { status: 200, document: this.#writer.relationship(row, name, page) }
    }
    if (relation.inverse) throw forbidden()
    const body = object(request.body)
    const pointer = body['data'] === undefined ? '' : '/data'
    const given = this.#reader.linkage(relation, body['data'], pointer)
    row.links[name] = Array.isArray(given) ? this.#changed(row.links[name] as string[], given, request.method) : given
    return this.#changedAs(request.method, row, name)
  }

  /** A replacement says nothing, an addition shows what there now is, a removal has meta alone. */
  #changedAs(method: string, row: Row, name: string): Reply {
    if (method === 'PATCH') return { status: 204 }
    if (method === 'DELETE') return { status: 200, document: { meta: { isGone: true } } }
    return { status: 200, document: this.#writer.relationship(row, name) }
  }

  #changed(held: string[], given: string[], method: string): string[] {
    if (method === 'PATCH') return given
    if (method === 'POST') return this.#broken('adds-twice') ? [...held, ...given] : [...new Set([...held, ...given])]
    if (this.#broken('remove-absent-404') && given.some((id) => !held.includes(id))) throw missing()
    return held.filter((id) => !given.includes(id))
  }
}

const noQuery: Query = { fields: new Map(), sort: [], page: 1, size: 1 }

const blank = ({ attributes }: Type): Record<string, Json> =>
  Object.fromEntries(Object.keys(attributes).map((name) => [name, null]))

const emptyLinks = ({ relations }: Type): Row['links'] => {
  const own = Object.entries(relations).filter(([, { inverse }]) => !inverse)
  return Object.fromEntries(own.map(([name, { many }]) => [name, many ? [] : null]))
}

const sorted = (rows: Row[], sort: string[]): Row[] =>
  rows.toSorted((left, right) => sort.map((name) => compare(left, right, name)).find((it) => it !== 0) ?? 0)

function compare(left: Row, right: Row, name: string): number {
  if (name.startsWith('-')) return -compare(left, right, name.slice(1))
  const [one, other] = [left.attributes[name] ?? '', right.attributes[name] ?? '']
  return Number(one > other) - Number(one < other)
}
