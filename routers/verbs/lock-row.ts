import type { EntityManager } from '@mikro-orm/postgresql'
import { type Sql, statement } from '../../entities/sql/statement.ts'
import type { Context } from '../core/context.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { createTransactionSql, runStatement } from '../core/run-statement.ts'
import type { Relation, Resource } from '../resource/declare.ts'
import type { RowVerb } from '../resource/query-shape.ts'
import { isUnrestricted, toViewer } from './viewer.ts'
import type { RowChange } from './write-inputs.ts'

export type Version = Pick<RowChange, 'id' | 'ifVersion'>

/**
 * Locks a row, checks the caller's permission, and compares the version that was read. An invisible row counts as not
 * found.
 */
export async function lockRow(
  ctx: Context,
  em: EntityManager,
  of: Resource,
  { id, ifVersion: expected, verb }: Version & { verb: RowVerb },
): Promise<void> {
  const { table } = ctx.services.records.resources.tableOf(of.type)
  const sql = createTransactionSql(em)
  const lock = `select xmin::text as version from ${table} where id = $1 for no key update`
  const [row] = await sql(statement<{ version: string }>(`lock-${table}`, lock), [of.ids.toKey(id)])
  if (!row) throw createNotFoundProblem(of, id)
  await assertPermitted(ctx, sql, of, { id, verb })
  if (expected !== undefined && ![expected].flat().includes(row.version)) throw new Problem('precondition_failed')
}

/**
 * Throws if the caller may not do this to the row. It is a statement of its own, because only one that begins after the
 * lock was granted sees what changed meanwhile.
 */
export async function assertPermitted(
  ctx: Context,
  sql: Sql,
  of: Resource,
  { id, verb }: { id: string; verb: RowVerb },
): Promise<void> {
  const compiled = ctx.services.records.resources.statementsOf(of.type).permission(verb, isUnrestricted(ctx))
  if (!compiled) return
  const [row] = await sql(compiled.statement, compiled.values({ ...toViewer(ctx), ids: [of.ids.toKey(id)] }))
  if (row?.id !== id) throw createNotFoundProblem(of, id)
  if (!row.isPermitted) throw new Problem('not_permitted')
}

/** Refuses links to rows that the caller may not see, as if they did not exist. */
export async function assertLinksVisible(
  ctx: Context,
  em: EntityManager,
  { relations }: Resource,
  input: Readonly<Record<string, unknown>>,
): Promise<void> {
  const linked = Object.entries(relations).filter(([name]) => input[name] !== undefined && input[name] !== null)
  for (const [name, { to, many }] of linked as [string, Relation][]) {
    const ids = [input[name]].flat().map(Number)
    const hidden = await findHiddenIds(ctx, em, to, ids)
    const issues = ids.flatMap((id, index) =>
      hidden.has(id) ? [createUnknownIssue(to, many ? [name, index] : [name])] : [],
    )
    if (issues.length > 0) throw new Problem('not_found', { issues })
  }
}

/** Returns the ids that are no rows of the type for the caller. */
export async function findHiddenIds(ctx: Context, em: EntityManager, type: string, ids: readonly number[]) {
  const compiled = ctx.services.records.resources.statementsOf(type).visibleKeys(isUnrestricted(ctx))
  const rows =
    ids.length > 0 ? await runStatement(em, compiled.statement, compiled.values({ ...toViewer(ctx), ids })) : []
  const visible = new Set(rows.map(({ key }) => key))
  return new Set(ids.filter((id) => !visible.has(id)))
}

export const createUnknownIssue = (type: string, path: Issue['path']): Issue => ({
  path,
  message: `there is no resource of the type ${type} with this id`,
})

export const createNotFoundProblem = ({ type }: Resource, id: string) =>
  new Problem('not_found', { detail: `There is no resource of the type ${type} with the id ${id}.` })
