import type { Compiled, ParameterValues, Viewer } from '../entities/scope.ts'
import type { Context } from './context.ts'
import type { Linked, Relation, Resource, ResourceType, Whole } from './resource.ts'
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
  readonly #admin: boolean

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.#viewer = viewerOf(ctx)
    this.#admin = isAdmin(ctx)
  }

  async byId(of: Resource, id: number, include: readonly string[]): Promise<Whole | undefined> {
    const statements = this.#statements(of.type)
    const rows = await this.#rows(statements.byId(this.#admin), { ...this.#viewer, id })
    const records = rows.map((row) => statements.read(row).record)
    await this.#includeAll(of, records, include)
    return records[0]
  }

  async page(of: Resource, query: Query, { size, number }: Window) {
    const shape = { ...query, admin: this.#admin }
    const statements = this.#statements(of.type)
    const given = { ...this.#viewer, limit: size, offset: (number - 1) * size, filter: query.filterValue }
    return this.#page(of, query, given, statements.page(shape), () => statements.count(shape))
  }

  /** A page of what a to-many relation of one parent leads to. */
  async relatedPage(parent: Resource, name: string, id: number, query: Query, { size, number }: Window) {
    const relation = parent.relations[name] as Relation
    const [of, shape] = [this.#ctx.resources.of(relation.to), { ...query, admin: this.#admin }]
    const statements = this.#statements(relation.to)
    const key = `${parent.type}.${name}`
    const given = { ...this.#viewer, ids: [id], limit: size, offset: (number - 1) * size, filter: query.filterValue }
    const page = statements.related(key, relation, shape, true)
    return this.#page(of, query, given, page, () => statements.countRelated(key, relation, shape))
  }

  /** Each row knows the total; where there is none, because the page lies behind the last, it is counted. */
  async #page(of: Resource, query: Query, given: ParameterValues, page: Compiled, counting: () => Compiled) {
    const statements = this.#statements(of.type)
    const read = (await this.#rows(page, given)).map((row) => statements.read(row))
    const items = read.map(({ record }) => record)
    await this.#includeAll(of, items, query.include)
    return { items, total: read[0]?.total ?? (given.offset === 0 ? 0 : await this.#count(counting(), given)) }
  }

  async #count(counting: Compiled, given: ParameterValues): Promise<number> {
    const [counted] = await this.#rows(counting, given)
    return counted?.['total'] as number
  }

  #rows({ statement, values }: Compiled, given: ParameterValues): Promise<Row[]> {
    return this.#ctx.sql(statement, values(given))
  }

  #statements(type: ResourceType) {
    return this.#ctx.resources.statementsOf(type)
  }

  async #includeAll(of: Resource, records: readonly Whole[], include: readonly string[]): Promise<void> {
    const names = new Set(include.map((path) => path.split('.', 1)[0] as string))
    await Promise.all([...names].map((name) => this.#include(of, records, name, below(include, name))))
  }

  async #include(of: Resource, parents: readonly Whole[], name: string, deeper: readonly string[]): Promise<void> {
    const relation = of.relations[name]
    if (!relation || parents.length === 0) return
    const found = relation.many
      ? await this.#includeMany(`${of.type}.${name}`, relation, parents, deeper)
      : await this.#includeOne(relation, name, parents, deeper)
    for (const parent of parents) parent.relations[name] = found(parent)
  }

  async #includeOne(relation: Relation, name: string, parents: readonly Whole[], deeper: readonly string[]) {
    const linked = parents.flatMap(({ relations }) => relations[name] ?? [])
    const ids = [...new Set(linked.map(({ id }) => Number(id)))]
    const statements = this.#statements(relation.to)
    const rows = await this.#rows(statements.byIds(this.#admin), { ...this.#viewer, ids })
    const records = rows.map((row) => statements.read(row).record)
    await this.#includeAll(this.#ctx.resources.of(relation.to), records, deeper)
    const byId = new Map(records.map((record) => [record.id, record]))
    return (parent: Whole) => byId.get((parent.relations[name] as Linked | null)?.id ?? '') ?? null
  }

  async #includeMany(key: string, relation: Relation, parents: readonly Whole[], deeper: readonly string[]) {
    const statements = this.#statements(relation.to)
    const statement = statements.related(key, relation, plainShape(this.#admin), false)
    const rows = await this.#rows(statement, { ...this.#viewer, ids: parents.map(({ id }) => Number(id)) })
    const read = rows.map((row) => statements.read(row))
    const byParent = new Map<string, Linked[]>(parents.map(({ id }) => [id, []]))
    for (const { record, parent } of read) byParent.get(parent)?.push(record)
    const records = read.map(({ record }) => record)
    await this.#includeAll(this.#ctx.resources.of(relation.to), records, deeper)
    return ({ id }: Linked) => byParent.get(id) ?? []
  }
}

/** What the statements may know of a caller. */
function viewerOf({ caller: { current }, usage, locale, settings }: Context): Viewer {
  const viewer = current.type === 'user' ? current.person.id : 0
  return { viewer, usage, locale, defaultLocale: settings.defaultLocale }
}

/** Whether the caller sees every row. An administrator who calls by a token that cannot write sees what others see. */
function isAdmin({ caller: { current }, origin }: Context): boolean {
  if (current.type !== 'user') return origin === 'host'
  const { person, token } = current
  return origin === 'host' || (person.role === 'admin' && (!token || token.abilities.includes('write')))
}

/** `['models', 'models.provider']` below `models` is `['provider']`. */
export const below = (paths: readonly string[], name: string): string[] =>
  paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1))
