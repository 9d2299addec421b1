import type { EntityManager, EntityName, RequiredEntityData } from '@mikro-orm/core'
import { DriverException } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { type BodySize, takes } from '../core/body-size.ts'
import type { Context } from '../core/context.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { adminWho } from '../core/trpc.ts'
import { exposes, type RecordOf, type Resource } from '../resource/declare.ts'
import { getRow, rowId } from './read.ts'
import { withoutUnchanged } from './unchanged.ts'

export const administrator = adminWho('write')

type Data = Record<string, unknown>

export interface Writable<C extends z.ZodRawShape, U extends z.ZodRawShape> {
  /** The entity of the table. */
  entity: object
  /** Members that a new row takes, and those, without defaults, that a change takes. A relation takes ids. */
  create: C
  update: U
  /** What its documents need, where that is more than a record. */
  body?: BodySize
  /** Turns members into columns where they are not the same. */
  columns?(ctx: Context, given: Data): Data
  /** What is wrong with a row as a whole, which may be how it was changed. */
  check?(row: Data, change?: Change): Issue[]
  /** Writes what stands in other tables, in the same transaction. */
  beside?(em: EntityManager, id: number, given: Data): Promise<void>
}

export interface Change {
  /** The row as it was. */
  before: Data
  /** The members of the input. */
  given: Data
}

/** Inside, a row is only something with an id: the ORM's types cannot follow a generic entity. */
type Row = { id: number; updatedAt: Date }
const rowsOf = (entity: object) => entity as EntityName<Row>

const version = z.string().max(20)
export const ifVersion = z
  .union([version, z.array(version).max(50)])
  .describe('Insists that the row has not changed since this version, or one of these, was read.')
  .optional()

/** `create`, `update` and `delete` of a type that is one table, for administrators. */
export function writes<R extends Resource, C extends z.ZodRawShape, U extends z.ZodRawShape>(
  of: R,
  writable: Writable<C, U>,
) {
  return {
    create: administrator
      .meta({ ...exposes(of, 'create'), ...takes(writable.body ?? 'record') })
      .input(z.strictObject(writable.create))
      .mutation(({ ctx, input }) => createRow(ctx, of, writable, input as Data)),

    update: administrator
      .meta({ ...exposes(of, 'update'), ...takes(writable.body ?? 'record') })
      .use(withoutUnchanged(of))
      .input(z.strictObject({ ...z.object(writable.update).partial().shape, id: rowId, ifVersion }))
      .mutation(({ ctx, input }) => updateRow(ctx, of, writable, input as RowChange)),

    delete: administrator
      .meta(exposes(of, 'delete'))
      .input(z.strictObject({ id: rowId, ifVersion }))
      .mutation(({ ctx, input }) => deleteRow(ctx, of, writable.entity, input)),
  }
}

export type RowChange = { id: string; ifVersion?: z.output<typeof ifVersion> } & Data

type AnyWritable = Writable<z.ZodRawShape, z.ZodRawShape>

async function createRow<R extends Resource>(ctx: Context, of: R, writable: AnyWritable, given: Data) {
  const { entity, columns = (_, same) => same, check, beside } = writable
  const id = await ctx
    .em()
    .transactional(async (em) => {
      const row = em.create(rowsOf(entity), columns(ctx, given) as RequiredEntityData<Row>)
      assertSound(row, check)
      await em.flush()
      await beside?.(em, row.id, given)
      return row.id
    })
    .catch(refuse)
  return getRow(ctx, of, String(id))
}

/** Changes what is given and leaves the rest; the row is locked from the look at its version to the end. */
export async function updateRow<R extends Resource>(
  ctx: Context,
  of: R,
  writable: AnyWritable,
  change: RowChange,
): Promise<RecordOf<R>> {
  const { id, ifVersion, ...given } = change
  const { entity, columns = (_, same) => same, check, beside } = writable
  const lists = Object.entries(of.relations).flatMap(([name, { many }]) => (many && name in given ? [name] : []))
  await ctx
    .em()
    .transactional(async (em) => {
      await insistOn(em, of, id, ifVersion)
      if (Object.keys(given).length === 0) return
      const row = await em.findOneOrFail(rowsOf(entity), { id: Number(id) }, { refresh: true })
      if (lists.length > 0) await em.populate(row, lists as never[])
      const before = { ...row }
      em.assign(row, columns(ctx, given) as Partial<Row>)
      assertSound(row, check, { before, given })
      // What stands in other tables is a change of the row, too.
      row.updatedAt = new Date()
      await em.flush()
      await beside?.(em, row.id, given)
    })
    .catch(refuse)
  return getRow(ctx, of, id)
}

function assertSound(row: object, check: AnyWritable['check'], change?: Change): void {
  const issues = check?.(row as Data, change) ?? []
  if (issues.length > 0) throw new Problem('invalid', { issues })
}

async function deleteRow(ctx: Context, of: Resource, entity: object, { id, ifVersion }: RowChange) {
  await ctx
    .em()
    .transactional(async (em) => {
      await insistOn(em, of, id, ifVersion)
      await em.nativeDelete(rowsOf(entity), { id: Number(id) })
    })
    .catch(refuseDelete)
  return { id }
}

/** Locks a row, without which there is nothing to change, and holds it to the version that was read. */
export async function insistOn(
  em: SqlEntityManager,
  of: Resource,
  id: string,
  expected: z.output<typeof ifVersion>,
): Promise<void> {
  const [row] = await em.execute<{ version: string }[]>(
    `select xmin::text as version from ${of.table} where id = ? for no key update`,
    [Number(id)],
  )
  if (!row) throw notFound(of, id)
  if (expected !== undefined && ![expected].flat().includes(row.version)) throw new Problem('precondition_failed')
}

const notFound = ({ type }: Resource, id: string) =>
  new Problem('not_found', { detail: `There is no resource of the type ${type} with the id ${id}.` })

/** What the database refuses because of other rows, by the code of the standard. */
const refusals: Record<string, () => Problem> = {
  '23505': () => new Problem('conflict', { detail: 'Another record has the same value where it must be unique.' }),
  '23503': () => new Problem('not_found', { detail: 'A related record does not exist.' }),
}

/** The database's refusal in our words. */
export function refuse(error: unknown): never {
  if (!(error instanceof DriverException)) throw error
  throw refusals[error.code ?? '']?.() ?? error
}

/** Nothing that is deleted refers to what is not there: others refer to it. Which of the codes says so depends on the version. */
function refuseDelete(error: unknown): never {
  const isReferenced = error instanceof DriverException && ['23001', '23503'].includes(error.code ?? '')
  throw isReferenced ? new Problem('conflict', { detail: 'Another record still refers to this one.' }) : error
}
