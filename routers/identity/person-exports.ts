import { z } from 'zod'
import {
  addExport,
  completeExport,
  countExports,
  deleteExpiredExports,
  failExport,
  findExportFile,
  findOrphanedExports,
  findWaitingExport,
  lastExport,
  listWaitingExports,
} from '../../entities/identity/person-export.sql.ts'
import { lockPerson } from '../../entities/identity/user.sql.ts'
import { AI_USER_ID } from '../../entities/identity/user.ts'
import { runInTransaction } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { FileContent } from '../core/file-content.ts'
import { Problem } from '../core/problems.ts'
import { runForOneRow, runStatement } from '../core/run-statement.ts'
import { host, router, sessionUser } from '../core/trpc.ts'
import { findUser, rowId, userSelector } from './user-selector.ts'

/** Hours for which an archive can be downloaded. */
const KEPT_HOURS = 48

/** Maximum number of exports per day. */
const MAX_PER_DAY = 3

/** Number of rows per statement, and of archives per check. */
const BATCH_SIZE = 100

/** Age in milliseconds after which an archive without a row is left over from a killed process. */
const GRACE_MS = 60 * 60_000

const exportInput = z.strictObject({ exportId: rowId })

/** Exports of a person's data. A job creates them, and only the person may download them. */
export const personExportsRouter = router({
  /** Returns the caller's latest export, if it still exists. */
  current: sessionUser.query(async ({ ctx }) => {
    const [found] = await ctx.services.sql(lastExport, [ctx.caller.person.id])
    return found ?? null
  }),

  request: sessionUser.mutation(({ ctx }) => requestExport(ctx, ctx.caller.person.id)),

  /** Requests an export, which the person finds in their settings. */
  requestFor: host.input(z.strictObject({ user: userSelector })).mutation(async ({ ctx, input }) => {
    const { id, username } = await findUser(ctx, input.user)
    return { username, ...(await requestExport(ctx, id)) }
  }),

  /** Writes the archive directly, for people who can no longer sign in. */
  write: host.input(z.strictObject({ user: userSelector })).mutation(async ({ ctx, input }) => {
    const { id, username } = await findUser(ctx, input.user)
    assertPerson(id)
    return { username, content: ctx.services.files.personArchive(id, ctx.signal()) }
  }),

  download: sessionUser
    .meta({ file: 'out' })
    .input(exportInput)
    .query(async ({ ctx, input: { exportId } }) => {
      const { sql } = ctx.services
      const { exports: exportFiles } = ctx.services.files
      const { id } = ctx.caller.person
      ctx.auditedCall?.setSubject(`user:${id}`)
      const [found] = await sql(findExportFile, [exportId, id])
      if (!found) throw new Problem('not_found', { detail: 'You have no such export, or it has expired.' })
      const { file, bytes, sealedKey, endedAt } = found
      const fileInfo = { name: `export-${endedAt.slice(0, 10)}.zip`, mime: 'application/zip', bytes, tag: file }
      return new FileContent(fileInfo, (range) => exportFiles.read({ name: file, bytes, sealedKey }, range))
    }),

  /** Creates a requested export. Does nothing if it exists or its person was deleted. */
  make: host.input(exportInput).mutation(({ ctx, input }) => makeExport(ctx, input.exportId)),

  giveUp: host.input(exportInput).mutation(({ ctx, input }) => ctx.services.sql(failExport, [input.exportId])),

  /** Several replicas may run it at once. */
  deleteExpired: host.mutation(({ ctx }) => deleteExpired(ctx)),
})

async function requestExport(ctx: Context, userId: number) {
  assertPerson(userId)
  ctx.auditedCall?.setSubject(`user:${userId}`)
  return runInTransaction(ctx, undefined, async (em) => {
    await runStatement(em, lockPerson, [userId])
    const { waiting, today } = await runForOneRow(em, countExports, [userId])
    if (waiting > 0) throw new Problem('conflict', { detail: 'Another export is still running.' })
    if (today >= MAX_PER_DAY)
      throw new Problem('too_many_requests', { detail: `You can order at most ${MAX_PER_DAY} exports within a day.` })
    const added = await runForOneRow(em, addExport, [userId, KEPT_HOURS])
    await ctx.services.process.jobQueue.enqueue(em, 'export-person', { input: { exportId: added.id } })
    return added
  })
}

function assertPerson(userId: number): void {
  if (userId === AI_USER_ID) throw new Problem('invalid', { detail: 'The AI user has no data to export.' })
}

async function makeExport(ctx: Context, exportId: number): Promise<void> {
  const { sql } = ctx.services
  const { exports: exportFiles, personArchive } = ctx.services.files
  const [waitingExport] = await sql(findWaitingExport, [exportId])
  if (!waitingExport) return
  const { name, bytes, sealedKey } = await exportFiles.write(personArchive(waitingExport.userId, ctx.signal()))
  const completed = await sql(completeExport, [exportId, name, bytes, sealedKey, KEPT_HOURS])
  // Another replica was faster, or the person was deleted meanwhile.
  if (completed.length === 0) await exportFiles.remove([name])
}

async function deleteExpired(ctx: Context): Promise<{ deleted: number; orphans: number }> {
  const { sql } = ctx.services
  const { exports: exportFiles } = ctx.services.files
  const { jobQueue } = ctx.services.process
  let deleted = 0
  for (;;) {
    const expired = await sql(deleteExpiredExports, [BATCH_SIZE])
    await exportFiles.remove(expired.flatMap(({ file }) => file ?? []))
    deleted += expired.length
    if (expired.length < BATCH_SIZE) break
  }
  // Jobs may be lost, for example in a restore of the database.
  const waiting = (await sql(listWaitingExports)).map(({ id }) => ({ exportId: id }))
  await runInTransaction(ctx, undefined, (em) => jobQueue.enqueueLost(em, 'export-person', waiting))
  return { deleted, orphans: await deleteOrphans(ctx) }
}

async function deleteOrphans({ services }: Context): Promise<number> {
  const before = new Date(Date.now() - GRACE_MS)
  const names: string[] = []
  for await (const { name, modifiedAt } of services.files.exports.list()) if (modifiedAt < before) names.push(name)
  let orphans = 0
  for (let at = 0; at < names.length; at += BATCH_SIZE) {
    const orphaned = await services.sql(findOrphanedExports, [names.slice(at, at + BATCH_SIZE)])
    await services.files.exports.remove(orphaned.map(({ name }) => name))
    orphans += orphaned.length
  }
  return orphans
}
