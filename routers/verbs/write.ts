import type { RequiredEntityData } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { type BodySize, takes } from '../core/body-size.ts'
import type { ChangeRecorder, Stream } from '../core/change-recorder.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { adminWith } from '../core/trpc.ts'
import type { Attribute, Relation, Resource } from '../resource/declare.ts'
import { exposes } from '../resource/exposure.ts'
import type { ColumnMapping, Row } from '../resource/mapping.ts'
import type { RecordOf } from '../resource/record.ts'
import type { Saving } from '../resource/saving.ts'
import { refuseDelete, translateConstraintError } from './constraint-errors.ts'
import { assertLinksVisible, lockRow, type Version } from './lock.ts'
import { getRow } from './read.ts'
import { withoutUnchanged } from './unchanged.ts'
import { createInput, ifVersion, type RowChange, updateInput } from './write-inputs.ts'

export const administrator = adminWith('write')

type Data = Record<string, unknown>

interface Writing {
  /** Who may call: administrators, unless somebody else is meant. Which rows they may write, the declaration says. */
  by?: typeof administrator
  /** What its documents need, where that is more than a record. */
  body?: BodySize
  /** What is wrong with a row as a whole, which may be how it was changed. */
  validate?: ((row: Data, change?: Change) => Issue[]) | undefined
  /** Does what belongs to a row that was just created or changed, in its transaction, or throws where it may not be so. */
  afterFlush?: (written: WrittenRow) => Promise<void>
  /** Does what belongs to the deletion of a row, while it is still there. */
  beforeDelete?: Deleting['beforeDelete']
}

export interface Change {
  /** The row as it was. */
  before: Data
  /** The members of the input. */
  given: Data
}

/** `create`, `update` and `delete` of a type that is one table, whose inputs follow from its declaration. */
export function writes<R extends Resource>(of: R, options: Writing = {}) {
  const { by = administrator, body = 'record', beforeDelete, ...changing } = options
  return {
    create: by
      .meta({ ...exposes(of, 'create'), ...takes(body) })
      .input(createInput(of))
      .mutation(({ ctx, input }) => createRow(ctx, of, input, changing)),

    update: by
      .meta({ ...exposes(of, 'update'), ...takes(body) })
      .use(withoutUnchanged(of))
      .input(updateInput(of))
      .mutation(({ ctx, input }) => updateRow(ctx, of, input, changing)),

    delete: by
      .meta(exposes(of, 'delete'))
      .input(z.strictObject({ id: of.ids.schema, ifVersion }))
      .mutation(({ ctx, input }) => deleteRow(ctx, of, input, { beforeDelete })),
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
  /** Does in the transaction what comes before the row, such as a lock, and throws where the change may not be. */
  beforehand?: (em: EntityManager, changes: ChangeRecorder) => Promise<unknown>
  /** The properties that nobody gives. */
  complete?: (given: Data) => Data
  /** Does what belongs to the change, in its transaction. */
  afterFlush?: (written: WrittenRow) => Promise<void>
  /** The stream that it changes and that many change. */
  stream?: Stream | undefined
}

const commonStream = (of: Resource): Stream | undefined => (of.streams === 'all' ? 'all' : undefined)

export async function createRow<R extends Resource>(
  ctx: Context,
  of: R,
  given: Data,
  { validate, beforehand, complete = () => ({}), afterFlush, stream = commonStream(of) }: Changing = {},
): Promise<RecordOf<R>> {
  const { entity, uniques } = ctx.services.resources.tableOf(of.type)
  const create = async (em: EntityManager, changes: ChangeRecorder) => {
    await beforehand?.(em, changes)
    await assertLinksVisible(ctx, em, of, given)
    const row = em.create(entity, { ...toColumns(ctx, of, given), ...complete(given) } as RequiredEntityData<Row>)
    assertSound(row, validate)
    await em.flush()
    await saveBeside(of, { em, id: row.id, vault: ctx.services.vault }, given)
    noteRow(ctx, of, { id: row.id, given, after: row })
    changes.addRow(of, 'created', row)
    await afterFlush?.({ em, changes, row, given })
    return row.id
  }
  const id = await changing(ctx, create, stream).catch((error) => translateConstraintError(error, uniques))
  return getRow(ctx, of, String(id))
}

/** Changes what is given and leaves the rest; the row is locked from the look at its version to the end. */
export async function updateRow<R extends Resource>(
  ctx: Context,
  of: R,
  { id, ifVersion, ...given }: RowChange,
  { validate, beforehand, complete = () => ({}), afterFlush, stream = commonStream(of) }: Changing = {},
): Promise<RecordOf<R>> {
  const { entity, uniques } = ctx.services.resources.tableOf(of.type)
  const lists = listLists(of, given)
  const update = async (em: EntityManager, changes: ChangeRecorder) => {
    await beforehand?.(em, changes)
    await lockRow(ctx, em, of, { id, ifVersion, verb: 'update' })
    if (Object.keys(given).length === 0) return
    await assertLinksVisible(ctx, em, of, given)
    const row = await em.findOneOrFail(entity, { id: of.ids.keyOf(id) }, { refresh: true })
    if (lists.length > 0) await em.populate(row, lists as never[])
    const before = { ...row }
    em.assign(row, { ...toColumns(ctx, of, given), ...complete(given) } as Partial<Row>)
    assertSound(row, validate, { before, given })
    // What stands in other tables is a change of the row, too.
    row.updatedAt = new Date()
    await em.flush()
    await saveBeside(of, { em, id: row.id, vault: ctx.services.vault }, given)
    noteRow(ctx, of, { id: row.id, given, before, after: row })
    changes.addRow(of, 'updated', row)
    await afterFlush?.({ em, changes, row, given })
  }
  await changing(ctx, update, stream).catch((error) => translateConstraintError(error, uniques))
  return getRow(ctx, of, id)
}

function assertSound(row: object, validate: Writing['validate'], change?: Change): void {
  const issues = validate?.(row as Data, change) ?? []
  if (issues.length > 0) throw new Problem('invalid', { issues })
}

interface Deleting extends Pick<Changing, 'stream'> {
  /** Does what belongs to the change, in its transaction, while the row is still there. */
  beforeDelete?: ((doomed: Omit<WrittenRow, 'given'>) => Promise<void>) | undefined
}

export async function deleteRow(
  ctx: Context,
  of: Resource,
  { id, ifVersion }: Version,
  { beforeDelete, stream = commonStream(of) }: Deleting = {},
): Promise<{ id: string }> {
  const { entity } = ctx.services.resources.tableOf(of.type)
  const isNeeded = beforeDelete || ctx.act || Object.keys(of.streams).length > 0
  const remove = async (em: EntityManager, changes: ChangeRecorder) => {
    await lockRow(ctx, em, of, { id, ifVersion, verb: 'delete' })
    const key = of.ids.keyOf(id)
    if (isNeeded) {
      const row = await em.findOneOrFail(entity, { id: key })
      noteRow(ctx, of, { id: row.id, given: of.attributes, before: row as Data })
      changes.addRow(of, 'deleted', row)
      await beforeDelete?.({ em, changes, row })
    }
    await em.nativeDelete(entity, { id: key })
  }
  await changing(ctx, remove, stream).catch(refuseDelete)
  return { id }
}

/** The members of an input as properties of the entity; without those that are no column of it. */
function toColumns({ services: { resources, vault } }: Context, of: Resource, given: Data): Data {
  const { columns } = resources.tableOf(of.type)
  const toStored = ({ sealed }: Attribute, value: unknown, column: ColumnMapping | undefined): unknown => {
    if (value === null || value === undefined) return value
    if (sealed) return vault.seal(typeof value === 'string' ? value : JSON.stringify(value), sealed)
    return column?.isTime ? new Date(String(value)) : value
  }
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const [attribute, relation] = [of.attributes[name], of.relations[name]]
      if (relation) return [[relation.property ?? name, linkedBy(relation, value)]]
      return attribute && !attribute.save
        ? [[attribute.property ?? name, toStored(attribute, value, columns[name])]]
        : []
    }),
  )
}

interface RowNote {
  id: number
  /** The members that are told of. */
  given: object
  before?: Data
  after?: Data
}

/** Tells the audit log what a row is before and after its change; of a secret, that it changed. */
function noteRow({ act }: Context, of: Resource, { id, given, before, after }: RowNote): void {
  if (!act) return
  const valuesOf = (row: Data | undefined) =>
    row && Object.fromEntries(Object.keys(given).map((name) => [name, auditedValue(of, name, row)]))
  act.concern(of.type === 'users' ? `user:${id}` : `${of.type}:${id}`)
  act.note({ before: valuesOf(before), after: valuesOf(after) })
}

/** Of a row as the audit log may have it; nothing of what stands in other tables. */
function auditedValue({ attributes }: Resource, name: string, row: Data): unknown {
  const attribute = attributes[name]
  const value = attribute && row[attribute.property ?? name]
  return attribute?.sealed && value ? 'changed' : value
}

/** Ids as the entity has them. */
const linkedBy = ({ many }: Relation, value: unknown) =>
  many ? (value as string[]).map(Number) : value === null ? null : Number(value)

/** The properties that hold the to-many relations among what is given. */
const listLists = ({ relations }: Resource, given: Data): string[] =>
  Object.entries(relations).flatMap(([name, { many, property = name }]) => (many && name in given ? [property] : []))

/** Writes what is kept in tables of its own. */
async function saveBeside({ attributes }: Resource, saving: Saving, given: Data): Promise<void> {
  for (const [name, value] of Object.entries(given)) await attributes[name]?.save?.(saving, value)
}
