import type { RequiredEntityData } from '@mikro-orm/core'
import { DriverException } from '@mikro-orm/core'
import type { EntityManager, SqlEntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { type BodySize, takes } from '../core/body-size.ts'
import { type ChangeRecorder, changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { adminWith } from '../core/trpc.ts'
import type { Resource } from '../resource/declare.ts'
import { exposes } from '../resource/exposure.ts'
import type { Row } from '../resource/mapping.ts'
import type { RecordOf } from '../resource/record.ts'
import { getRow, resourceId } from './read.ts'
import { columnsOf, listsOf, saveBeside } from './to-row.ts'
import { withoutUnchanged } from './unchanged.ts'
import { createInput, ifVersion, type RowChange, updateInput } from './write-inputs.ts'

export const administrator = adminWith('write')

type Data = Record<string, unknown>

interface Writing {
  /** What its documents need, where that is more than a record. */
  body?: BodySize
  /** What is wrong with a row as a whole, which may be how it was changed. */
  validate?: ((row: Data, change?: Change) => Issue[]) | undefined
}

export interface Change {
  /** The row as it was. */
  before: Data
  /** The members of the input. */
  given: Data
}

/**
 * `create`, `update` and `delete` of a type that is one table, whose inputs follow from its declaration. For administrators,
 * who see every row: a write does not ask the scope.
 */
export function writes<R extends Resource>(of: R, { body = 'record', validate }: Writing = {}) {
  return {
    create: administrator
      .meta({ ...exposes(of, 'create'), ...takes(body) })
      .input(createInput(of))
      .mutation(({ ctx, input }) => createRow(ctx, of, input, { validate })),

    update: administrator
      .meta({ ...exposes(of, 'update'), ...takes(body) })
      .use(withoutUnchanged(of))
      .input(updateInput(of))
      .mutation(({ ctx, input }) => updateRow(ctx, of, input, { validate })),

    delete: administrator
      .meta(exposes(of, 'delete'))
      .input(z.strictObject({ id: resourceId, ifVersion }))
      .mutation(({ ctx, input }) => deleteRow(ctx, of, input)),
  }
}

/** A row that was just written, in the transaction that is still open. */
export interface WrittenRow {
  em: EntityManager
  changes: ChangeRecorder
  row: Row
  given: Data
}

interface Changing {
  validate?: Writing['validate']
  /** Does what belongs to the change, in its transaction. */
  afterFlush?: (written: WrittenRow) => Promise<void>
}

interface Creating extends Changing {
  /** The properties that nobody gives. */
  complete?: (given: Data) => Data
}

export async function createRow<R extends Resource>(
  ctx: Context,
  of: R,
  given: Data,
  { validate, complete = () => ({}), afterFlush }: Creating = {},
): Promise<RecordOf<R>> {
  const { entity } = ctx.services.resources.tableOf(of.type)
  const id = await changing(ctx, async (em, changes) => {
    const row = em.create(entity, { ...columnsOf(ctx, of, given), ...complete(given) } as RequiredEntityData<Row>)
    assertSound(row, validate)
    await em.flush()
    await saveBeside(em, of, row.id, given)
    changes.addRow(of, 'created', row)
    await afterFlush?.({ em, changes, row, given })
    return row.id
  }).catch(translateConstraintError)
  return getRow(ctx, of, String(id))
}

/** Changes what is given and leaves the rest; the row is locked from the look at its version to the end. */
export async function updateRow<R extends Resource>(
  ctx: Context,
  of: R,
  { id, ifVersion, ...given }: RowChange,
  { validate, afterFlush }: Changing = {},
): Promise<RecordOf<R>> {
  const { entity } = ctx.services.resources.tableOf(of.type)
  const lists = listsOf(of, given)
  await changing(ctx, async (em, changes) => {
    await lockAtVersion(ctx, em, of, { id, ifVersion })
    if (Object.keys(given).length === 0) return
    const row = await em.findOneOrFail(entity, { id: Number(id) }, { refresh: true })
    if (lists.length > 0) await em.populate(row, lists as never[])
    const before = { ...row }
    em.assign(row, columnsOf(ctx, of, given) as Partial<Row>)
    assertSound(row, validate, { before, given })
    // What stands in other tables is a change of the row, too.
    row.updatedAt = new Date()
    await em.flush()
    await saveBeside(em, of, row.id, given)
    changes.addRow(of, 'updated', row)
    await afterFlush?.({ em, changes, row, given })
  }).catch(translateConstraintError)
  return getRow(ctx, of, id)
}

function assertSound(row: object, validate: Writing['validate'], change?: Change): void {
  const issues = validate?.(row as Data, change) ?? []
  if (issues.length > 0) throw new Problem('invalid', { issues })
}

async function deleteRow(ctx: Context, of: Resource, { id, ifVersion }: Version) {
  const { entity } = ctx.services.resources.tableOf(of.type)
  const isFollowed = Object.keys(of.streams).length > 0
  await changing(ctx, async (em, changes) => {
    await lockAtVersion(ctx, em, of, { id, ifVersion })
    if (isFollowed) changes.addRow(of, 'deleted', await em.findOneOrFail(entity, { id: Number(id) }))
    await em.nativeDelete(entity, { id: Number(id) })
  }).catch(refuseDelete)
  return { id }
}

type Version = Pick<RowChange, 'id' | 'ifVersion'>

/** Locks a row, without which there is nothing to change, and holds it to the version that was read. */
export async function lockAtVersion(ctx: Context, em: SqlEntityManager, of: Resource, version: Version): Promise<void> {
  const { id, ifVersion: expected } = version
  const { table } = ctx.services.resources.tableOf(of.type)
  const [row] = await em.execute<{ version: string }[]>(
    `select xmin::text as version from ${table} where id = ? for no key update`,
    [Number(id)],
  )
  if (!row) throw notFound(of, id)
  if (expected !== undefined && ![expected].flat().includes(row.version)) throw new Problem('precondition_failed')
}

const notFound = ({ type }: Resource, id: string) =>
  new Problem('not_found', { detail: `There is no resource of the type ${type} with the id ${id}.` })

/** What the database refuses because of other rows, by the code of the standard. */
const constraintProblems: Record<string, () => Problem> = {
  '23505': () => new Problem('conflict', { detail: 'Another record has the same value where it must be unique.' }),
  '23503': () => new Problem('not_found', { detail: 'A related record does not exist.' }),
}

/** The database's refusal in our words. */
export function translateConstraintError(error: unknown): never {
  if (!(error instanceof DriverException)) throw error
  throw constraintProblems[error.code ?? '']?.() ?? error
}

/** Nothing that is deleted refers to what is not there: others refer to it. Which of the codes says so depends on the version. */
function refuseDelete(error: unknown): never {
  const isReferenced = error instanceof DriverException && ['23001', '23503'].includes(error.code ?? '')
  throw isReferenced ? new Problem('conflict', { detail: 'Another record still refers to this one.' }) : error
}
