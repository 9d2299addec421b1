import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { statement } from '../../entities/sql/statement.ts'
import type { ChangeRecorder } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { withBodySize } from '../core/trpc.ts'
import type { Relation, Resource } from '../resource/declare.ts'
import { exposeAs } from '../resource/exposure.ts'
import { resourceId } from '../resource/ids.ts'
import type { PivotMapping, TableMapping } from '../resource/mapping.ts'
import type { RecordRef } from '../resource/record.ts'
import { translateConstraintError } from './constraint-errors.ts'
import { createUnknownIssue, findHiddenIds, lockRow } from './lock-row.ts'
import { getRow } from './read.ts'
import { administrator, findSharedStream } from './write.ts'
import { ifVersion } from './write-inputs.ts'

type Change = 'add' | 'replace' | 'remove'

const linkage = z.strictObject({ id: resourceId, ids: z.array(resourceId).max(1000), ifVersion })

/** Defines the changes of a many-to-many relation for administrators; each is atomic. */
export function defineRelationshipWrites(of: Resource, name: string) {
  const change = (kind: Change) =>
    administrator
      .meta({ ...exposeAs(of, { relationship: name, change: kind }), ...withBodySize('record') })
      .input(linkage)
      .mutation(({ ctx, input }) => changeLinks(ctx, of, name, { ...input, kind }))
  return { add: change('add'), replace: change('replace'), remove: change('remove') }
}

async function changeLinks(
  ctx: Context,
  of: Resource,
  name: string,
  { id, ids, kind, ifVersion }: z.output<typeof linkage> & { kind: Change },
) {
  const { resources } = ctx.services.records
  const { to } = of.relations[name] as Relation
  const [own, other] = [resources.tableOf(of.type), resources.tableOf(to)]
  const path = own.relations[name]
  if (!path || !('pivot' in path)) throw new Problem('read_only')
  const wanted = [...new Set(ids.map(Number))]
  const change = async (em: EntityManager, changes: ChangeRecorder) => {
    // Concurrent changes of the same links wait here.
    await lockRow(ctx, em, of, { id, ifVersion, verb: 'update' })
    const before = await findLinkedIds(em, path, Number(id))
    const lost = kind === 'replace' ? before : []
    await lockRelatedRows(ctx, em, to, [...wanted, ...lost], kind === 'remove' ? [] : ids.map(Number))
    await writeLinks(em, path, Number(id), wanted, kind)
    await runStatement(em, touchRows(own.table), [[Number(id)]])
    const touched = await runStatement(em, touchRows(other.table), [[...wanted, ...lost]])
    const after = await findLinkedIds(em, path, Number(id))
    ctx.auditedCall
      ?.setSubject(`${of.type}:${id}`)
      .recordChange({ before: { [name]: before }, after: { [name]: after } })
    changes.addRow(of, 'updated', { id: Number(id) })
    // If the other side shows the links as well, its rows have changed for their readers.
    if (showsLinks(other, path)) for (const row of touched) changes.addRow(resources.of(to), 'updated', row)
  }
  await withChangeLog(ctx, change, findSharedStream(of)).catch(translateConstraintError)
  const { relations } = await getRow(ctx, of, id, [name])
  return relations?.[name] as RecordRef[]
}

/** Returns true if the other side of a relation has a relation of the same links. */
const showsLinks = ({ relations }: TableMapping, { pivot }: PivotMapping): boolean =>
  Object.values(relations).some((path) => 'pivot' in path && path.pivot === pivot)

async function findLinkedIds(em: EntityManager, { pivot, from, to }: PivotMapping, id: number): Promise<number[]> {
  const query = statement<{ id: number }>(
    `linked-${pivot}-${from}`,
    `select ${to} as id from ${pivot} where ${from} = $1 order by 1`,
  )
  const rows = await runStatement(em, query, [id])
  return rows.map(({ id }) => id)
}

/**
 * Locks rows in the order of their ids, which prevents deadlocks. Rows that the caller does not see count as not found.
 */
async function lockRelatedRows(ctx: Context, em: EntityManager, to: string, ids: number[], needed: number[]) {
  const { table } = ctx.services.records.resources.tableOf(to)
  const lock = `select from ${table} where id = any($1::int[]) order by id for no key update`
  await runStatement(em, statement<never>(`lock-all-${table}`, lock), [ids])
  const hidden = await findHiddenIds(ctx, em, to, needed)
  const issues = needed.flatMap((id, index) => (hidden.has(id) ? [createUnknownIssue(to, ['ids', index])] : []))
  if (issues.length > 0) throw new Problem('not_found', { issues })
}

async function writeLinks(
  em: EntityManager,
  { pivot, from, to }: PivotMapping,
  id: number,
  ids: number[],
  kind: Change,
) {
  const run = (verb: string, text: string, values: unknown[]) =>
    runStatement(em, statement<never>(`${verb}-${pivot}-${from}`, text), values)
  if (kind === 'remove')
    return run('unlink', `delete from ${pivot} where ${from} = $1 and ${to} = any($2::int[])`, [id, ids])
  if (kind === 'replace') await run('unlink-all', `delete from ${pivot} where ${from} = $1`, [id])
  const link = `insert into ${pivot} (${from}, ${to}) select $1::int, unnest($2::int[]) on conflict do nothing`
  return run('link', link, [id, ids])
}

const touchRows = (table: string) =>
  statement<{ id: number }>(
    `touch-${table}`,
    `update ${table} set updated_at = now() where id = any($1::int[]) returning id`,
  )
