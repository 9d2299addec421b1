import type { CompiledStatement, ParameterValues, Viewer } from '../../entities/sql/scope.ts'
import type { Context } from '../core/context.ts'
import type { Linked, Relation, Resource, ResourceType, Whole } from '../resource/declare.ts'
import { plainShape, type QueryShape, type Read } from '../resource/statements.ts'

export interface Window {
  size: number
  number: number
}

export interface Query extends Omit<QueryShape, 'unrestricted'> {
  include: readonly string[]
  /** By the name of the filter. */
  filterValues?: Readonly<Record<string, unknown>>
}

/** What a relation leads to from one record. */
type Found = (from: Linked) => Linked | Linked[] | null

/** Reads rows of declared types as their caller may see them. A page and its total are one statement, each include path one more. */
export class RowReader {
  readonly #ctx: Context
  readonly #viewer: Viewer
  readonly #unrestricted: boolean

  constructor(ctx: Context) {
    this.#ctx = ctx
    this.#viewer = viewerOf(ctx)
    this.#unrestricted = seesAll(ctx)
  }

  async byId(of: Resource, id: number, include: readonly string[]): Promise<Whole | undefined> {
    const rows = await this.#byIds(of.type, [id])
    const records = (rows.get(`${id}`) ?? []).map(({ record }) => record)
    return (await this.#including(of, records, include))[0]
  }

  async page(of: Resource, query: Query, { size, number }: Window) {
    const shape = { ...query, unrestricted: this.#unrestricted }
    const statements = this.#statements(of.type)
    const given = { ...this.#viewer, limit: size, offset: (number - 1) * size, filters: query.filterValues ?? {} }
    return this.#page(of, query, given, statements.page(shape), () => statements.count(shape))
  }

  /** A page of what a to-many relation of one parent leads to. */
  async relatedPage(parent: Resource, name: string, id: number, query: Query, { size, number }: Window) {
    const relation = parent.relations[name] as Relation
    const [of, shape] = [this.#ctx.services.resources.of(relation.to), { ...query, unrestricted: this.#unrestricted }]
    const statements = this.#statements(relation.to)
    const key = `${parent.type}.${name}`
    const given = {
      ...this.#viewer,
      ids: [id],
      limit: size,
      offset: (number - 1) * size,
      filters: query.filterValues ?? {},
    }
    const page = statements.related(key, relation, shape, true)
    return this.#page(of, query, given, page, () => statements.countRelated(key, relation, shape))
  }

  /** Each row knows the total; where there is none, because the page lies behind the last, it is counted. */
  async #page(
    of: Resource,
    query: Query,
    given: ParameterValues,
    compiled: CompiledStatement,
    counting: () => CompiledStatement,
  ) {
    const read = await this.#ctx.services.rows.all({ statements: this.#statements(of.type), compiled, given })
    const items = await this.#including(of, recordsOf(read), query.include)
    return { items, total: read[0]?.total ?? (given.offset === 0 ? 0 : await this.#count(counting(), given)) }
  }

  async #count({ statement, values }: CompiledStatement, given: ParameterValues): Promise<number> {
    const [counted] = await this.#ctx.services.sql(statement, values(given))
    return counted?.['total'] as number
  }

  #byIds(type: ResourceType, ids: readonly number[]) {
    const statements = this.#statements(type)
    return this.#ctx.services.rows.byIds(
      { statements, compiled: statements.byIds(this.#unrestricted), given: this.#viewer },
      ids,
    )
  }

  #statements(type: ResourceType) {
    return this.#ctx.services.resources.statementsOf(type)
  }

  /** The records with what the paths lead to; others may hold them without, so these are new ones. */
  async #including(of: Resource, records: Whole[], include: readonly string[]): Promise<Whole[]> {
    if (include.length === 0 || records.length === 0) return records
    const names = [...new Set(include.map((path) => path.split('.', 1)[0] as string))]
    const found = await Promise.all(names.map((name) => this.#follow(of, records, name, below(include, name))))
    return records.map((record) => {
      const relations = { ...record.relations }
      for (const [index, name] of names.entries()) relations[name] = (found[index] as Found)(record)
      return { ...record, relations }
    })
  }

  #follow(of: Resource, from: readonly Whole[], name: string, deeper: readonly string[]): Promise<Found> {
    const relation = of.relations[name] as Relation
    return relation.many
      ? this.#followMany(`${of.type}.${name}`, relation, from, deeper)
      : this.#followOne(relation, name, from, deeper)
  }

  async #followOne({ to }: Relation, name: string, from: readonly Whole[], deeper: readonly string[]): Promise<Found> {
    const ids = [...new Set(from.flatMap(({ relations }) => relations[name] ?? []).map(({ id }) => id))]
    const rows = await this.#byIds(to, ids.map(Number))
    const own = ids.flatMap((id) => rows.get(id) ?? [])
    const records = await this.#including(this.#ctx.services.resources.of(to), recordsOf(own), deeper)
    const byId = new Map(records.map((record) => [record.id, record]))
    return ({ relations }) => byId.get((relations?.[name] as Linked | null)?.id ?? '') ?? null
  }

  async #followMany(key: string, relation: Relation, from: readonly Whole[], deeper: readonly string[]) {
    const statements = this.#statements(relation.to)
    const compiled = statements.related(key, relation, plainShape(this.#unrestricted), false)
    const ids = from.map(({ id }) => Number(id))
    const rows = await this.#ctx.services.rows.byIds({ statements, compiled, given: this.#viewer }, ids)
    const own = from.flatMap(({ id }) => rows.get(id) ?? [])
    const records = await this.#including(this.#ctx.services.resources.of(relation.to), recordsOf(own), deeper)
    const byParent = Map.groupBy(records, (_, index) => own[index]?.belongsTo)
    return ({ id }: Linked) => byParent.get(id) ?? []
  }
}

const recordsOf = (read: readonly Read[]) => read.map(({ record }) => record)

/** What the statements may know of a caller. */
function viewerOf({ caller: { current }, usage, locale, services: { settings } }: Context): Viewer {
  const viewer = current.type === 'user' ? current.person.id : 0
  return { viewer, usage, locale, defaultLocale: settings.defaultLocale }
}

/** Whether the caller sees every row. An administrator who calls by a token that cannot write sees what others see. */
function seesAll({ caller: { current }, origin }: Context): boolean {
  if (current.type !== 'user') return origin === 'host'
  const { person, token } = current
  return origin === 'host' || (person.role === 'admin' && (!token || token.abilities.includes('write')))
}

/** `['models', 'models.provider']` below `models` is `['provider']`. */
export const below = (paths: readonly string[], name: string): string[] =>
  paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1))
