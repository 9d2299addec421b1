import type { EntityManager } from '@mikro-orm/postgresql'
import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import { extendTimeouts } from '../../entities/sql/locks.ts'
import { recordChanges } from '../../entities/views/change-log.sql.ts'
import { traceWork } from '../ports/traces.ts'
import type { Resource } from '../resource/declare.ts'
import { recordCallInTransaction, recordRowWrites } from './audit.ts'
import type { AuditedCall } from './audited-call.ts'
import type { ChangeRecorder, DroppedFile, Stream, StreamKind } from './change-recorder.ts'
import type { Context } from './context.ts'
import { runStatement } from './run-statement.ts'

/**
 * Runs a transaction and writes its changes to the change log. The log is written last and in one statement, so that a
 * stream is locked as briefly as possible. Other replicas are notified after the commit. `stream` is a stream that many
 * transactions change.
 */
export async function withChangeLog<T>(
  ctx: Context,
  work: (em: EntityManager, changes: ChangeRecorder) => Promise<T>,
  stream?: Stream,
): Promise<T> {
  const pending: PendingChange[] = []
  const logged: LoggedChange[] = []
  const records = new Map<string, object>()
  const droppedFiles: DroppedFile[] = []
  const endedCredentials: string[] = []
  const finish = async (em: EntityManager) => {
    const result = await work(em, createRecorder({ pending, logged, records, droppedFiles, endedCredentials }))
    await em.flush()
    if (pending.length > 0) logged.push(...(await writeLog(em, pending)))
    return result
  }
  const { result, notifications } = await runTransaction(ctx, stream, finish, pending)
  // Announce ended credentials first, so that their holders receive no further changes.
  const announced = ctx.services.changes.credentials.announce(endedCredentials)
  publish(ctx, [...logged.map((change) => withRecord(change, records)), ...notifications])
  await announced
  if (droppedFiles.length > 0) await removeFiles(ctx, droppedFiles)
  return result
}

/** Runs a transaction after earlier ones on the same stream have finished; while it waits, it holds no connection. */
export async function runInTransaction<T>(
  ctx: Context,
  stream: Stream | undefined,
  work: (em: EntityManager) => Promise<T>,
): Promise<T> {
  const { result, notifications } = await runTransaction(ctx, stream, work)
  publish(ctx, notifications)
  return result
}

/** Returns the result, and the changes that administrators are notified of; their entry is written last. */
async function runTransaction<T>(
  ctx: Context,
  stream: Stream | undefined,
  work: (em: EntityManager) => Promise<T>,
  /** The changes that the work has recorded when it is done. */
  pending: readonly PendingChange[] = [],
): Promise<{ result: T; notifications: LoggedChange[] }> {
  using _turn = stream && (await ctx.services.limits.semaphores.change.acquire(stream))
  const auditedCall = ctx.auditedCall?.isSignIn ? undefined : ctx.auditedCall
  const outcome = await traceWork('transaction', {}, () =>
    ctx.em().transactional(async (em) => {
      if (ctx.origin === 'host') await runStatement(em, extendTimeouts, [])
      if (auditedCall?.shouldRecordRows) recordRowWrites(em, auditedCall)
      const result = await work(em)
      // Rows that are still to be written belong to the entry.
      await em.flush()
      return { result, notifications: await notifyAdministrators(ctx, em, auditedCall, pending) }
    }),
  )
  auditedCall?.markWritten()
  return outcome
}

/**
 * Notifies administrators by the audit entry, or, if there is none, by the changes that everybody is notified of, such
 * as a model that went offline.
 */
async function notifyAdministrators(
  ctx: Context,
  em: EntityManager,
  auditedCall: AuditedCall | undefined,
  pending: readonly PendingChange[],
) {
  if (auditedCall?.needsEntry) return recordCallInTransaction(ctx, em, auditedCall)
  const shared = pending.filter(({ stream }) => stream === 'all')
  if (shared.length === 0) return []
  return writeLog(
    em,
    shared.map((change) => ({ ...change, stream: 'admins' })),
  )
}

interface PendingChange {
  stream: Stream
  kind: string
  subject: string
}

interface RecordedEffects {
  pending: PendingChange[]
  logged: LoggedChange[]
  /** Rows by stream, type and id. */
  records: Map<string, object>
  droppedFiles: DroppedFile[]
  endedCredentials: string[]
}

function createRecorder(effects: RecordedEffects): ChangeRecorder {
  const { pending, logged, records, droppedFiles, endedCredentials } = effects
  const add: ChangeRecorder['add'] = (streams, verb, type, id) => {
    for (const stream of streams) pending.push({ stream, kind: `${type}.${verb}`, subject: String(id) })
  }
  return {
    add,
    addRow: (of, verb, row) => add(findStreams(of, row), verb, of.type, row.id),
    addLogged: (changes) => void logged.push(...changes),
    addRecord(stream, type, record) {
      if (Buffer.byteLength(JSON.stringify(record)) > MAX_RECORD_BYTES) return
      records.set(`${stream} ${type} ${record.id}`, record)
    },
    addEnded: (credentials) => void endedCredentials.push(...credentials),
    dropFiles: (names, store = 'attachments') => void droppedFiles.push(...names.map((name) => ({ store, name }))),
  }
}

/** The size of a row as JSON up to which a change carries it; followers read a larger one. */
const MAX_RECORD_BYTES = 16 * 1024

function withRecord(change: LoggedChange, records: ReadonlyMap<string, object>): LoggedChange {
  const { stream, kind, subject } = change
  const record = records.get(`${stream} ${kind.split('.', 1)[0]} ${subject}`)
  return record ? { ...change, record } : change
}

const writeLog = (em: EntityManager, pending: readonly PendingChange[]) =>
  runStatement(em, recordChanges, [JSON.stringify(pending.map((change, n) => ({ n, ...change })))])

function publish({ services, notes, caller }: Context, logged: readonly LoggedChange[]): void {
  if (logged.length === 0) return
  services.changes.bus.publish(logged)
  if (!services.settings.syncLog) return
  const ownStream = caller.type === 'user' ? `user:${caller.person.id}` : ''
  const readable = logged.filter(
    ({ stream }) => stream !== 'admins' && (!stream.startsWith('user:') || stream === ownStream),
  )
  notes.addPositions(readable.map(({ stream, epoch, seq }) => ({ stream, epoch, seq })))
}

/** The hourly cleanup finds files that could not be removed. */
async function removeFiles({ services }: Context, files: readonly DroppedFile[]): Promise<void> {
  for (const [store, dropped] of Map.groupBy(files, (file) => file.store))
    await services.files[store]
      .remove(dropped.map(({ name }) => name))
      .catch((error: unknown) => services.log.warn({ error }, 'a file could not be removed'))
}

/** Returns the streams that a row belongs to, by the properties that its declaration names. */
function findStreams({ streams }: Resource, row: object): Stream[] {
  if (streams === 'all') return [streams]
  const kinds = Object.entries(streams) as [StreamKind, string][]
  return kinds.flatMap(([kind, property]): Stream[] => {
    const id = readId((row as Record<string, unknown>)[property])
    return id === undefined ? [] : [`${kind}:${id}`]
  })
}

/** Reads an id from a column or from a reference to another row. */
function readId(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return value ? (value as { id: number }).id : undefined
}
