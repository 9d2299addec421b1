import type { Json, JsonObject } from '../json.ts'
import type { Broken } from './breakages.ts'
import { type Row, type Store, types } from './model.ts'
import type { Query } from './query.ts'

const keyOf = ({ type, id }: Row) => `${type}/${id}`

/** Stars stand for what can only be written. */
const shown = ({ type, attributes }: Row): [string, Json][] =>
  Object.entries(attributes).map(([name, value]) => {
    const isSecret = types[type]?.attributes[name]?.['writeOnly'] === true
    return [name, isSecret && value !== null ? '********' : value]
  })

const identify = ({ type, id }: Row): JsonObject => ({ type, id })

/** Writes rows as a compound document. */
export class Writer {
  readonly #store: Store
  readonly #base: string
  readonly #broken: Broken

  constructor(store: Store, base: string, broken: Broken) {
    this.#store = store
    this.#base = base
    this.#broken = broken
  }

  write(rows: Row[], isMany: boolean, query: Query): JsonObject {
    const data = rows.map((row) => this.#resource(row, query))
    const included = query.include && this.#included(rows, query.include)
    const shown = included?.map((row) => this.#resource(row, query)) ?? []
    if (this.#broken('duplicates')) shown.push(...shown)
    const isSent = included && (shown.length > 0 || !this.#broken('no-included-when-empty'))
    return { data: isMany ? data : (data[0] ?? null), ...(isSent && { included: shown }) }
  }

  /** The answer to a request for a relationship. */
  relationship(row: Row, name: string, page = 1): JsonObject {
    const isWhole = this.#broken('whole-resources-as-linkage')
    return this.#relationshipObject(row, name, page, (it) => ({
      ...identify(it),
      ...(isWhole && { attributes: it.attributes }),
    }))
  }

  selfOf(row: Row): string {
    return `${this.#base}/${keyOf(row)}`
  }

  #resource(row: Row, { fields }: Query): JsonObject {
    const wanted = this.#broken('all-fields') ? undefined : fields.get(row.type)
    const isWanted = ([name]: [string, Json]) => !wanted || wanted.includes(name)
    const names = Object.keys(types[row.type]?.relations ?? {})
    const relationships = names.map((name): [string, Json] => [name, this.#relationshipObject(row, name)])
    return {
      type: row.type,
      id: this.#broken('numeric-ids') && row.type === 'tags' ? Number(row.id) : row.id,
      attributes: Object.fromEntries(shown(row).filter(isWanted)),
      relationships: Object.fromEntries(relationships.filter(isWanted)),
      links: { self: this.#broken('no-self-resource') ? `${this.#base}/people/1` : this.selfOf(row) },
    }
  }

  #relationshipObject(row: Row, name: string, page = 1, write = identify): JsonObject {
    const { many, pageSize } = types[row.type]?.relations[name] ?? {}
    const rows = this.#store.related(row, name)
    const links = { self: `${this.selfOf(row)}/relationships/${name}`, related: this.#relatedLink(row, name, rows) }
    if (!pageSize) return { links, data: many ? rows.map(write) : (rows.map(write)[0] ?? null) }
    const start = (page - 1) * pageSize
    const shown = rows.slice(start, start + pageSize)
    const last = Math.max(1, Math.ceil(rows.length / pageSize))
    return { links: { ...links, ...this.#pageLinks(links, page, last) }, data: shown.map(write) }
  }

  #relatedLink(row: Row, name: string, [first]: Row[]): string {
    const isMoving = this.#broken('moving-related-link') && name === 'editor' && first
    return isMoving ? this.selfOf(first) : `${this.selfOf(row)}/${name}`
  }

  #pageLinks({ self, related }: { self: string; related: string }, page: number, last: number): JsonObject {
    const step = this.#broken('skips-members') ? 2 : 1
    const base = this.#broken('pages-related') ? related : self
    const at = (number: number) => `${base}?page%5Bnumber%5D=${number}`
    return {
      first: at(1),
      last: at(last),
      prev: page > 1 ? at(page - 1) : null,
      next: page < last ? at(page + step) : null,
    }
  }

  #included(rows: Row[], paths: string[]): Row[] {
    const found = new Map<string, Row>()
    for (const path of paths) this.#walk(rows, path.split('.'), found)
    if (this.#broken('includes-more'))
      this.#walk(rows, [Object.keys(types[rows[0]?.type ?? '']?.relations ?? {})[0] ?? ''], found)
    if (this.#broken('loose-included')) for (const tag of this.#store.all('tags')) found.set(keyOf(tag), tag)
    for (const row of rows) found.delete(keyOf(row))
    return [...found.values()]
  }

  #walk(rows: Row[], [name = '', ...rest]: string[], found: Map<string, Row>): void {
    const related = rows.flatMap((row) => this.#store.related(row, name))
    const isSkipped = this.#broken('skips-between') && rest.length > 0
    if (!isSkipped) for (const row of related) found.set(keyOf(row), row)
    if (rest.length > 0) this.#walk(related, rest, found)
  }
}
