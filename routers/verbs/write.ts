import { isDeepStrictEqual } from 'node:util'
import type { RequiredEntityData } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import type { ChangeRecorder, ChangeTransaction, Stream } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { adminWith, assertMayActSensitively, type BodySize, sensitiveAdminWith, withBodySize } from '../core/trpc.ts'
import type { Attribute, AttributeWrite, Relation, Resource } from '../resource/declare.ts'
import { exposeAs } from '../resource/exposure.ts'
import type { ColumnMapping, Row } from '../resource/mapping.ts'
import type { RecordOf } from '../resource/record.ts'
import { refuseDelete, translateConstraintError } from './constraint-errors.ts'
import { dropUnchanged } from './drop-unchanged.ts'
import { assertLinksVisible, lockRow, type Version } from './lock-row.ts'
import { getRow } from './read.ts'
import { buildCreateInput, buildUpdateInput, ifVersion, type RowChange } from './write-inputs.ts'

export const administrator = adminWith('write')
/** The same for sensitive acts. */
export const sensitiveAdministrator = sensitiveAdminWith('write')

type Data = Record<string, unknown>

interface WriteOptions {
  /** Base procedure, by default that of administrators. The declaration decides which rows the caller may write. */
  by?: typeof administrator
  /** Size class of the body, if it is larger than a record. */
  body?: BodySize
  /** Returns the issues of a row as a whole, or of its change. */
  validate?: ((row: Data, change?: RowUpdate) => Issue[]) | undefined
  /** Runs in the transaction after a row was created or updated; may throw to refuse it. */
  afterFlush?: WriteHooks['afterFlush']
  /** Runs before a row is deleted. */
  beforeDelete?: DeleteHooks['beforeDelete']
}

export interface RowUpdate {
  /** The row before the update. */
  before: Data
  /** The members of the input. */
  input: Data
}

/** Defines `create`, `update` and `delete` of a type with one table; their inputs follow from its declaration. */
export function defineWrites<R extends Resource>(of: R, options: WriteOptions = {}) {
  const { by = administrator, body = 'record', beforeDelete, ...changing } = options
  return {
    create: by
      .meta({ ...exposeAs(of, 'create'), ...withBodySize(body) })
      .input(buildCreateInput(of))
      .mutation(({ ctx, input }) => createRow(ctx, of, input, changing)),

    update: by
      .meta({ ...exposeAs(of, 'update'), ...withBodySize(body) })
      .use(dropUnchanged(of))
      .input(buildUpdateInput(of))
      .mutation(({ ctx, input }) => updateRow(ctx, of, input, changing)),

    delete: by
      .meta(exposeAs(of, 'delete'))
      .input(z.strictObject({ id: of.ids.schema, ifVersion }))
      .mutation(({ ctx, input }) => deleteRow(ctx, of, input, { beforeDelete })),
  }
}

/** A row that was just written, in the transaction that is still open. */
export interface WrittenRow extends ChangeTransaction {
  row: Row
  input: Data
}

interface WriteHooks {
  validate?: WriteOptions['validate']
  /**
   * Runs in the transaction before the row is written, for instance to lock something; may throw to refuse the change.
   */
  beforeWrite?: (em: EntityManager, changes: ChangeRecorder) => Promise<unknown>
  /** Returns properties that the input does not contain. */
  completeRow?: (input: Data) => Data
  /** Runs in the transaction after the write. */
  afterFlush?: ((written: WrittenRow, ctx: Context) => Promise<void>) | undefined
  /** The shared stream that the change is written to. */
  stream?: Stream | undefined
}

export const findSharedStream = (of: Resource): Stream | undefined => (of.streams === 'all' ? 'all' : undefined)

export async function createRow<R extends Resource>(
  ctx: Context,
  of: R,
  input: Data,
  { validate, beforeWrite, completeRow = () => ({}), afterFlush, stream = findSharedStream(of) }: WriteHooks = {},
): Promise<RecordOf<R>> {
  const { entity, uniques } = ctx.services.records.resources.tableOf(of.type)
  const isDefault = (name: string) => isDeepStrictEqual(input[name], of.attributes[name]?.default)
  assertMayWrite(
    ctx,
    of,
    Object.keys(input).filter((name) => !isDefault(name)),
  )
  const create = async (em: EntityManager, changes: ChangeRecorder) => {
    await beforeWrite?.(em, changes)
    await assertLinksVisible(ctx, em, of, input)
    const row = em.create(entity, { ...toColumns(ctx, of, input), ...completeRow(input) } as RequiredEntityData<Row>)
    assertValidRow(row, validate)
    await em.flush()
    await saveSideTables(of, { em, id: row.id, vault: ctx.services.vault }, input)
    auditRow(ctx, of, { id: row.id, members: input, after: row })
    changes.addRow(of, 'created', row)
    await afterFlush?.({ em, changes, row, input }, ctx)
    return row.id
  }
  const id = await withChangeLog(ctx, create, stream).catch((error) => translateConstraintError(error, uniques))
  return getRow(ctx, of, String(id))
}

/** Updates the given members; the row stays locked from the version check to the commit. */
export async function updateRow<R extends Resource>(
  ctx: Context,
  of: R,
  { id, ifVersion, ...input }: RowChange,
  { validate, beforeWrite, completeRow = () => ({}), afterFlush, stream = findSharedStream(of) }: WriteHooks = {},
): Promise<RecordOf<R>> {
  const { entity, uniques } = ctx.services.records.resources.tableOf(of.type)
  const lists = listToManyProperties(of, input)
  assertMayWrite(ctx, of, Object.keys(input))
  const update = async (em: EntityManager, changes: ChangeRecorder) => {
    await beforeWrite?.(em, changes)
    await lockRow(ctx, em, of, { id, ifVersion, verb: 'update' })
    if (Object.keys(input).length === 0) return
    await assertLinksVisible(ctx, em, of, input)
    const row = await em.findOneOrFail(entity, { id: of.ids.toKey(id) }, { refresh: true })
    if (lists.length > 0) await em.populate(row, lists as never[])
    const before = { ...row }
    em.assign(row, { ...toColumns(ctx, of, input), ...completeRow(input) } as Partial<Row>)
    assertValidRow(row, validate, { before, input })
    // A change in a side table counts as a change of the row.
    row.updatedAt = new Date()
    await em.flush()
    await saveSideTables(of, { em, id: row.id, vault: ctx.services.vault }, input)
    auditRow(ctx, of, { id: row.id, members: input, before, after: row })
    changes.addRow(of, 'updated', row)
    await afterFlush?.({ em, changes, row, input }, ctx)
  }
  await withChangeLog(ctx, update, stream).catch((error) => translateConstraintError(error, uniques))
  return getRow(ctx, of, id)
}

/**
 * Throws if one of these members is sensitive and the caller may not change it. The check stands where rows are
 * written, so that no surface misses it.
 */
function assertMayWrite(ctx: Context, { attributes }: Resource, members: readonly string[]): void {
  if (members.some((name) => attributes[name]?.sensitive)) assertMayActSensitively(ctx)
}

function assertValidRow(row: object, validate: WriteOptions['validate'], change?: RowUpdate): void {
  const issues = validate?.(row as Data, change) ?? []
  if (issues.length > 0) throw new Problem('invalid', { issues })
}

interface DeleteHooks extends Pick<WriteHooks, 'stream'> {
  /** Runs in the transaction before the row is deleted. */
  beforeDelete?: ((doomed: Omit<WrittenRow, 'input'>, ctx: Context) => Promise<void>) | undefined
}

export async function deleteRow(
  ctx: Context,
  of: Resource,
  { id, ifVersion }: Version,
  { beforeDelete, stream = findSharedStream(of) }: DeleteHooks = {},
): Promise<{ id: string }> {
  const { entity } = ctx.services.records.resources.tableOf(of.type)
  const isNeeded = beforeDelete || ctx.auditedCall || Object.keys(of.streams).length > 0
  const remove = async (em: EntityManager, changes: ChangeRecorder) => {
    await lockRow(ctx, em, of, { id, ifVersion, verb: 'delete' })
    const key = of.ids.toKey(id)
    if (isNeeded) {
      const row = await em.findOneOrFail(entity, { id: key })
      auditRow(ctx, of, { id: row.id, members: of.attributes, before: row as Data })
      changes.addRow(of, 'deleted', row)
      await beforeDelete?.({ em, changes, row }, ctx)
    }
    await em.nativeDelete(entity, { id: key })
  }
  await withChangeLog(ctx, remove, stream).catch(refuseDelete)
  return { id }
}

/** Converts input members to entity properties, without those that are no column. */
function toColumns({ services }: Context, of: Resource, input: Data): Data {
  const { columns } = services.records.resources.tableOf(of.type)
  const toStored = ({ sealed }: Attribute, value: unknown, column: ColumnMapping | undefined): unknown => {
    if (value === null || value === undefined) return value
    if (sealed) return services.vault.seal(typeof value === 'string' ? value : JSON.stringify(value), sealed)
    return column?.isTime ? new Date(String(value)) : value
  }
  return Object.fromEntries(
    Object.entries(input).flatMap(([name, value]) => {
      const [attribute, relation] = [of.attributes[name], of.relations[name]]
      if (relation) return [[relation.property ?? name, toReference(relation, value)]]
      return attribute && !attribute.save
        ? [[attribute.property ?? name, toStored(attribute, value, columns[name])]]
        : []
    }),
  )
}

interface RowAudit {
  id: number
  /** The members to be recorded. */
  members: object
  before?: Data
  after?: Data
}

/** Records a row before and after its change in the audit log; of a secret only that it changed. */
function auditRow({ auditedCall }: Context, of: Resource, { id, members, before, after }: RowAudit): void {
  if (!auditedCall) return
  const toAuditedValues = (row: Data | undefined) =>
    row && Object.fromEntries(Object.keys(members).map((name) => [name, toAuditedValue(of, name, row)]))
  auditedCall.setSubject(of.type === 'users' ? `user:${id}` : `${of.type}:${id}`)
  auditedCall.recordChange({ before: toAuditedValues(before), after: toAuditedValues(after) })
}

/** Returns a value for the audit log; undefined for values in side tables. */
function toAuditedValue({ attributes }: Resource, name: string, row: Data): unknown {
  const attribute = attributes[name]
  const value = attribute && row[attribute.property ?? name]
  return attribute?.sealed && value ? 'changed' : value
}

/** Converts ids to the entity's form. */
function toReference({ many }: Relation, value: unknown): number[] | number | null {
  if (many) return (value as string[]).map(Number)
  return value === null ? null : Number(value)
}

/** Returns the properties of the to-many relations in the input. */
const listToManyProperties = ({ relations }: Resource, input: Data): string[] =>
  Object.entries(relations).flatMap(([name, { many, property = name }]) => (many && name in input ? [property] : []))

/** Writes the attributes that are stored in tables of their own. */
async function saveSideTables({ attributes }: Resource, write: AttributeWrite, input: Data): Promise<void> {
  for (const [name, value] of Object.entries(input)) await attributes[name]?.save?.(write, value)
}
