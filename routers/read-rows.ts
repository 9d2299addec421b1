import type { Viewer } from '../entities/scope.ts'
import type { Context } from './context.ts'
import type { Linked, Relation, Resource, ResourceType } from './resource.ts'
import { plainShape, type Shape } from './resource-statements.ts'

export interface Window {
  size: number
  number: number
}

export interface Query extends Omit<Shape, 'admin'> {
  include: readonly string[]
  filterValue?: number | undefined
}

type Row = Record<string, unknown>

/** Reads rows of declared types as their caller may see them. A page is one statement, its count another, each include path one more. */
export class RowReader {
  readonly #ctx: Context
  readonly #viewer: Viewer

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.#viewer = viewerOf(ctx)
  }

  async byId(of: Resource, id: number, include: readonly string[]): Promise<Linked | undefined> {
    const { statement, values } = this.#statements(of.type).byId(this.#viewer.admin)
    const rows = await this.#ctx.sql(statement, values({ ...this.#viewer, id }))
    return (await this.#records(of, rows, include))[0]
  }

  async page(of: Resource, query: Query, { size, number }: Window) {
    const shape = { ...query, admin: this.#viewer.admin }
    const [page, count] = [this.#statements(of.type).page(shape), this.#statements(of.type).count(shape)]
    const given = { ...this.#viewer, limit: size, offset: (number - 1) * size, filter: query.filterValue }
    const [rows, [counted]] = await Promise.all([
      this.#ctx.sql(page.statement, page.values(given)),
      this.#ctx.sql(count.statement, count.values(given)),
    ])
    return { items: await this.#records(of, rows, query.include), total: counted?.['total'] as number }
  }

  /** A page of what a to-many relation of one parent leads to. */
  async relatedPage(parent: Resource, name: string, id: number, query: Query, { size, number }: Window) {
    const relation = parent.relations[name] as Relation
    const [of, shape] = [this.#ctx.resources.of(relation.to), { ...query, admin: this.#viewer.admin }]
    const statements = this.#statements(relation.to)
    const key = `${parent.type}.${name}`
    const [page, count] = [
      statements.related(key, relation, shape, true),
      statements.countRelated(key, relation, shape),
    ]
    const given = { ...this.#viewer, ids: [id], limit: size, offset: (number - 1) * size, filter: query.filterValue }
    const [rows, [counted]] = await Promise.all([
      this.#ctx.sql(page.statement, page.values(given)),
      this.#ctx.sql(count.statement, count.values(given)),
    ])
    return { items: await this.#records(of, rows, query.include), total: counted?.['total'] as number }
  }

  #statements(type: ResourceType) {
    return this.#ctx.resources.statementsOf(type)
  }

  async #records(of: Resource, rows: Row[], include: readonly string[]): Promise<Linked[]> {
    const records = rows.map((row) => recordOf(of, row))
    const names = new Set(include.map((path) => path.split('.', 1)[0] as string))
    await Promise.all([...names].map((name) => this.#include(of, records, name, below(include, name))))
    return records
  }

  async #include(of: Resource, parents: readonly Linked[], name: string, deeper: readonly string[]): Promise<void> {
    const relation = of.relations[name]
    if (!relation || parents.length === 0) return
    const found = relation.many
      ? await this.#includeMany(`${of.type}.${name}`, relation, parents, deeper)
      : await this.#includeOne(relation, name, parents, deeper)
    for (const parent of parents) {
      const held = found(parent)
      parent.relations = { ...parent.relations, [name]: held }
    }
  }

  async #includeOne(relation: Relation, name: string, parents: readonly Linked[], deeper: readonly string[]) {
    const linked = parents.flatMap((parent) => parent.relations?.[name] ?? []) as Linked[]
    const { statement, values } = this.#statements(relation.to).byIds(this.#viewer.admin)
    const ids = [...new Set(linked.map(({ id }) => Number(id)))]
    const rows = await this.#ctx.sql(statement, values({ ...this.#viewer, ids }))
    const records = await this.#records(this.#ctx.resources.of(relation.to), rows, deeper)
    const byId = new Map(records.map((record) => [record.id, record]))
    return (parent: Linked) => byId.get((parent.relations?.[name] as Linked | null)?.id ?? '') ?? null
  }

  async #includeMany(key: string, relation: Relation, parents: readonly Linked[], deeper: readonly string[]) {
    const shape = plainShape(this.#viewer.admin)
    const { statement, values } = this.#statements(relation.to).related(key, relation, shape, false)
    const rows = await this.#ctx.sql(statement, values({ ...this.#viewer, ids: parents.map(({ id }) => Number(id)) }))
    const owners = rows.map((row) => row['$parent'] as string)
    const records = await this.#records(this.#ctx.resources.of(relation.to), rows, deeper)
    const byParent = Map.groupBy(records.keys(), (index) => owners[index])
    return ({ id }: Linked) => (byParent.get(id) ?? []).map((index) => records[index] as Linked)
  }
}

/** What the statements may know of a caller. An administrator who calls by a token that cannot write sees what others see. */
export function viewerOf({ caller, usage, locale, settings, origin }: Context): Viewer {
  const { current } = caller
  const person = current.type === 'user' ? current.person : undefined
  const mayWrite = current.type === 'user' && (!current.token || current.token.abilities.includes('write'))
  const admin = origin === 'host' || (person?.role === 'admin' && mayWrite)
  return { viewer: person?.id ?? 0, admin, usage, locale, defaultLocale: settings.defaultLocale }
}

/** A row becomes its record: links go under `relations`, and a sparse attribute without a value stays out. */
function recordOf({ attributes, relations }: Resource, row: Row): Linked {
  const links: Record<string, Linked | null> = {}
  for (const name in relations) {
    if (relations[name]?.many) continue
    const id = row[`$${name}`] as string | null
    links[name] = id === null ? null : { id }
  }
  const record: Row = { id: row['id'], rowVersion: row['$version'], relations: links }
  for (const name in attributes) {
    const value = row[name]
    if (value !== undefined && (value !== null || !attributes[name]?.sparse)) record[name] = value
  }
  return record as unknown as Linked
}

/** `['models', 'models.provider']` below `models` is `['provider']`. */
export const below = (paths: readonly string[], name: string): string[] =>
  paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1))
