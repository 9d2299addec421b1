import type { EntityManager } from '@mikro-orm/postgresql'
import type { CompiledStatement, ParameterValues, Viewer } from '../../entities/sql/scope.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { createTransactionSql } from '../core/run-statement.ts'
import type { FoundRow, Relation, Resource } from '../resource/declare.ts'
import { MAX_INCLUDED, type PageRow, type QueryShape, type RecordRow } from '../resource/query-shape.ts'
import type { RecordRef, ResourceRecord, UncompletedRecord } from '../resource/record.ts'
import type { ResourceStatements } from '../resource/statements.ts'
import { isUnrestricted, toViewer } from './viewer.ts'

export interface PageWindow {
  size: number
  number: number
}

export interface Query extends Omit<QueryShape, 'isUnrestricted'> {
  include: readonly string[]
  /** Values by the name of the filter. */
  filterValues?: Readonly<Record<string, unknown>>
}

/** Returns the related records of one record. */
type RelationResolver = (from: RecordRef) => RecordRef | RecordRef[] | null

/**
 * Reads rows of declared types with the caller's visibility. A page and its total take one statement, and each include
 * path one more.
 */
export class RowReader {
  readonly #ctx: Context
  readonly #viewer: Viewer
  readonly #isUnrestricted: boolean
  readonly #sql: Sql
  readonly #isShared: boolean

  /** Takes the transaction to read in if others get the records, too: without rows and members that only the caller gets. */
  constructor(ctx: Context, shareIn?: EntityManager) {
    this.#ctx = ctx
    this.#viewer = toViewer(ctx)
    this.#isShared = shareIn !== undefined
    this.#isUnrestricted = !this.#isShared && isUnrestricted(ctx)
    this.#sql = shareIn ? createTransactionSql(shareIn) : ctx.services.sql
  }

  async byId(of: Resource, id: string, include: readonly string[]): Promise<ResourceRecord | undefined> {
    return (await this.byIds(of, [id], include))[0]
  }

  /** Returns the records of `ids` in their order, without those that the caller does not see. */
  async byIds(of: Resource, ids: readonly string[], include: readonly string[] = []): Promise<ResourceRecord[]> {
    const parameters = { ...this.#viewer, ids: ids.map(of.ids.toKey) }
    const rows = await this.#run(this.#statements(of).byIds(this.#isUnrestricted), parameters)
    const found = new Map(rows.map((row) => [row.record.id, row]))
    const requested = ids.flatMap((id) => found.get(id) ?? [])
    return this.#loadIncludes(of, await this.#toRecords(of, requested), include)
  }

  /** Returns true if the caller sees a row, without reading it. */
  async canSee(of: Resource, id: string): Promise<boolean> {
    const parameters = { ...this.#viewer, ids: [of.ids.toKey(id)] }
    const rows = await this.#run(this.#statements(of).visibleKeys(this.#isUnrestricted), parameters)
    return rows.some((row) => row.id === id)
  }

  /** Reads a page of a list. */
  async page(of: Resource, query: Query, window: PageWindow) {
    const shape = { ...query, isUnrestricted: this.#isUnrestricted }
    const statements = this.#statements(of)
    // A coalesced type is read by positions in the list, which join to one statement for the pages of all callers.
    const parameters = { ...this.#toValues(query, window), ids: listPositions(window) }
    return this.#page(of, query, parameters, statements.page(shape), () => statements.count(shape))
  }

  /** Reads a page of a to-many relation of one parent. */
  async relatedPage(parent: Resource, name: string, id: string, query: Query, window: PageWindow) {
    const relation = parent.relations[name] as Relation
    const [of, shape] = [
      this.#ctx.services.records.resources.of(relation.to),
      { ...query, isUnrestricted: this.#isUnrestricted },
    ]
    const statements = this.#statements(of)
    const parameters = { ...this.#toValues(query, window), parent: parent.ids.toKey(id) }
    const page = statements.relatedPage(parent, name, shape)
    return this.#page(of, query, parameters, page, () => statements.countRelated(parent, name, shape))
  }

  #toValues({ filterValues = {} }: Query, { size, number }: PageWindow): ParameterValues {
    return { ...this.#viewer, limit: size, offset: (number - 1) * size, filters: filterValues }
  }

  /** Each row contains the total; a page behind the last row needs a separate count. */
  async #page(
    of: Resource,
    query: Query,
    parameters: ParameterValues,
    compiled: CompiledStatement<PageRow>,
    compileCount: () => CompiledStatement<{ total: number }>,
  ) {
    const { offset } = parameters as { offset: number }
    const rows = await this.#run(compiled, parameters)
    const items = await this.#loadIncludes(of, await this.#toRecords(of, rows), query.include)
    const [first] = rows.length > 0 || offset === 0 ? rows : await this.#run(compileCount(), parameters)
    return { items, total: first?.total ?? 0 }
  }

  #run<Row>({ statement, values }: CompiledStatement<Row>, parameters: ParameterValues): Promise<Row[]> {
    return this.#sql(statement, values(parameters))
  }

  async #toRecords(of: Resource, rows: readonly RecordRow[]): Promise<ResourceRecord[]> {
    const records = this.#complete(of, rows)
    const isRequested = (name: string) => !this.#isShared && this.#ctx.isRequested(of.type, name)
    const onDemand = this.#statements(of).onDemand.filter(([name]) => isRequested(name))
    return onDemand.length === 0 || records.length === 0 ? records : this.#loadOnDemand(records, onDemand)
  }

  /** Completes the records by their sources, without a query. */
  #complete({ source }: Resource, rows: readonly RecordRow[]): ResourceRecord[] {
    if (!source) return rows.map(({ record }) => record)
    const { vault } = this.#ctx.services
    return rows.map(({ record: uncompleted }) => {
      const { rowSource, ...record } = uncompleted as UncompletedRecord
      return { ...record, ...source.complete(rowSource, vault) }
    })
  }

  /** Adds attributes on demand to the records, whose relations contain only links so far. */
  async #loadOnDemand(
    records: readonly ResourceRecord[],
    onDemand: ResourceStatements['onDemand'],
  ): Promise<ResourceRecord[]> {
    const by = { sql: this.#ctx.services.sql, viewer: this.#viewer.viewer }
    const found = await Promise.all(onDemand.map(([, find]) => find(records as readonly FoundRow[], by)))
    const valuesAt = (at: number) => Object.fromEntries(onDemand.map(([name], index) => [name, found[index]?.[at]]))
    return records.map((record, at) => ({ ...record, ...valuesAt(at) }))
  }

  #statements({ type }: Resource) {
    return this.#ctx.services.records.resources.statementsOf(type)
  }

  /** Returns copies of the records with the included relations; the originals may be shared with other callers. */
  async #loadIncludes(of: Resource, records: ResourceRecord[], include: readonly string[]): Promise<ResourceRecord[]> {
    if (include.length === 0 || records.length === 0) return records
    const names = [...new Set(include.map((path) => path.split('.', 1)[0] as string))]
    const found = await Promise.all(
      names.map((name) => this.#loadRelation(of, records, name, listNestedIncludes(include, name))),
    )
    return records.map((record) => {
      const relations = { ...record.relations }
      for (const [index, name] of names.entries()) relations[name] = (found[index] as RelationResolver)(record)
      return { ...record, relations }
    })
  }

  #loadRelation(
    of: Resource,
    from: readonly ResourceRecord[],
    name: string,
    nested: readonly string[],
  ): Promise<RelationResolver> {
    const { to, many, derive } = of.relations[name] as Relation
    if (derive) return Promise.resolve((record) => [...derive(record, this.#ctx.services.vault)])
    const target = this.#ctx.services.records.resources.of(to)
    return many ? this.#loadToMany(of, name, target, from, nested) : this.#loadToOne(name, target, from, nested)
  }

  async #loadToOne(name: string, target: Resource, from: readonly ResourceRecord[], nested: readonly string[]) {
    const ids = new Set(from.flatMap(({ relations }) => relations[name] ?? []).map(({ id }) => id))
    const records = await this.byIds(target, [...ids], nested)
    const byId = new Map(records.map((record) => [record.id, record]))
    return ({ relations }: RecordRef) => byId.get((relations?.[name] as RecordRef | null)?.id ?? '') ?? null
  }

  async #loadToMany(
    of: Resource,
    name: string,
    target: Resource,
    from: readonly ResourceRecord[],
    nested: readonly string[],
  ) {
    const compiled = this.#statements(target).related(of, name, this.#isUnrestricted)
    const ids = from.map(({ id }) => of.ids.toKey(id))
    const rows = await this.#run(compiled, { ...this.#viewer, ids })
    if (!target.coalesced && rows.length > MAX_INCLUDED) throw createTooManyIncludedProblem(name)
    const records = await this.#loadIncludes(target, await this.#toRecords(target, rows), nested)
    const byParent = Map.groupBy(records, (_, index) => rows[index]?.parent)
    return ({ id }: RecordRef) => byParent.get(`${of.ids.toKey(id)}`) ?? []
  }
}

/** Returns the positions of a page's rows in the whole list, counted from 1. */
const listPositions = ({ size, number }: PageWindow): number[] =>
  Array.from({ length: size }, (_, at) => (number - 1) * size + at + 1)

function createTooManyIncludedProblem(name: string): Problem {
  const message = `must be smaller: ${name} would bring more than ${MAX_INCLUDED} resources along`
  return new Problem('invalid_query', { issues: [{ path: ['page', 'size'], message }] })
}

/** Returns `['provider']` for `['models', 'models.provider']` below `models`. */
export const listNestedIncludes = (paths: readonly string[], name: string): string[] =>
  paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1))
