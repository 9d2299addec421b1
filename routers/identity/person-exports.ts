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
import { findUser, resourceId, userChoice } from './user-selector.ts'

/** An archive can be fetched for so long. */
const KEPT_HOURS = 48

/** Somebody may ask for so many within a day. */
const PER_DAY = 3

/** One statement deletes so many rows, or looks at so many archives. */
const BATCH = 100

/** Archives without a row that are older were left by a process that was killed, in milliseconds. */
const GRACE_MS = 60 * 60_000

const exportInput = z.strictObject({ exportId: resourceId })

/** Copies of all that belongs to a person, which are made behind the requests, and which that person alone may fetch. */
export const personExportsRouter = router({
  /** The one that the caller has asked for last, if it is still there. */
  current: sessionUser.query(async ({ ctx }) => {
    const [found] = await ctx.services.sql(lastExport, [ctx.caller.person.id])
    return found ?? null
  }),

  request: sessionUser.mutation(({ ctx }) => requestExport(ctx, ctx.caller.person.id)),

  /** They find it in their settings. */
  requestFor: host.input(z.strictObject({ user: userChoice })).mutation(async ({ ctx, input }) => {
    const { id, username } = await findUser(ctx, input.user)
    return { username, ...(await requestExport(ctx, id)) }
  }),

  /** Writes the archive right here, for somebody who cannot sign in any more. */
  write: host.input(z.strictObject({ user: userChoice })).mutation(async ({ ctx, input }) => {
    const { id, username } = await findUser(ctx, input.user)
    assertPerson(id)
    return { username, content: ctx.services.personArchive(id, ctx.signal()) }
  }),

  download: sessionUser
    .meta({ file: 'out' })
    .input(exportInput)
    .query(async ({ ctx, input: { exportId } }) => {
      const { sql, exportFiles } = ctx.services
      const { id } = ctx.caller.person
      ctx.auditedCall?.setSubject(`user:${id}`)
      const [found] = await sql(findExportFile, [exportId, id])
      if (!found) throw new Problem('not_found', { detail: 'There is no such export of yours, or its time is over.' })
      const { file, bytes, sealedKey, endedAt } = found
      const facts = { name: `export-${endedAt.slice(0, 10)}.zip`, mime: 'application/zip', bytes, tag: file }
      return new FileContent(facts, (range) => exportFiles.read({ name: file, bytes, sealedKey }, range))
    }),

  /** Makes an export that was asked for; does nothing where it is there, or its person is gone. */
  make: host.input(exportInput).mutation(({ ctx, input }) => makeExport(ctx, input.exportId)),

  giveUp: host.input(exportInput).mutation(({ ctx, input }) => ctx.services.sql(failExport, [input.exportId])),

  /** Several replicas may do so at once. */
  deleteExpired: host.mutation(({ ctx }) => deleteExpired(ctx)),
})

async function requestExport(ctx: Context, userId: number) {
  assertPerson(userId)
  ctx.auditedCall?.setSubject(`user:${userId}`)
  return runInTransaction(ctx, undefined, async (em) => {
    await runStatement(em, lockPerson, [userId])
    const { waiting, today } = await runForOneRow(em, countExports, [userId])
    if (waiting > 0) throw new Problem('conflict', { detail: 'An export is being made already.' })
    if (today >= PER_DAY)
      throw new Problem('too_many_requests', { detail: `There are at most ${PER_DAY} exports within a day.` })
    const added = await runForOneRow(em, addExport, [userId, KEPT_HOURS])
    await ctx.services.jobQueue.enqueue(em, 'export-person', { input: { exportId: added.id } })
    return added
  })
}

function assertPerson(userId: number): void {
  if (userId === AI_USER_ID) throw new Problem('invalid', { detail: 'The AI user has no data to export.' })
}

async function makeExport(ctx: Context, exportId: number): Promise<void> {
  const { sql, exportFiles, personArchive } = ctx.services
  const [found] = await sql(findWaitingExport, [exportId])
  if (!found) return
  const { name, bytes, sealedKey } = await exportFiles.write(personArchive(found.userId, ctx.signal()))
  const completed = await sql(completeExport, [exportId, name, bytes, sealedKey, KEPT_HOURS])
  // Another replica was faster, or the person was removed meanwhile.
  if (completed.length === 0) await exportFiles.remove([name])
}

async function deleteExpired(ctx: Context): Promise<{ deleted: number; orphans: number }> {
  const { sql, exportFiles, jobQueue } = ctx.services
  let deleted = 0
  for (;;) {
    const expired = await sql(deleteExpiredExports, [BATCH])
    await exportFiles.remove(expired.flatMap(({ file }) => file ?? []))
    deleted += expired.length
    if (expired.length < BATCH) break
  }
  // Their jobs may be lost, as in a restore of the database.
  const waiting = (await sql(listWaitingExports)).map(({ id }) => ({ exportId: id }))
  await runInTransaction(ctx, undefined, (em) => jobQueue.enqueueLost(em, 'export-person', waiting))
  return { deleted, orphans: await deleteOrphans(ctx) }
}

async function deleteOrphans({ services: { sql, exportFiles } }: Context): Promise<number> {
  const before = new Date(Date.now() - GRACE_MS)
  const names: string[] = []
  for await (const { name, modifiedAt } of exportFiles.list()) if (modifiedAt < before) names.push(name)
  let orphans = 0
  for (let at = 0; at < names.length; at += BATCH) {
    const found = await sql(findOrphanedExports, [names.slice(at, at + BATCH)])
    await exportFiles.remove(found.map(({ name }) => name))
    orphans += found.length
  }
  return orphans
}
