import { type InferEntity, LockMode } from '@mikro-orm/core'
import { z } from 'zod'
import { ExtApp } from '../../entities/apps/ext-app.ts'
import { acquireLock, locks } from '../../entities/sql/locks.ts'
import type { ChangeTransaction } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'
import { normalizePublicKey, publicKeyInput } from './app-key.ts'
import { suspendLinks } from './app-links.ts'
import { endLinksOfOtherKey } from './change-app.ts'
import { extApps } from './ext-app.ts'

const { name, description, url, redirectUrls, logoUrl, abilities, needsKeys, linkDays } = extApps.attributes

/** An app of the file. The file has no secrets: the app brings its public key, and a command creates its credential. */
const appSchema = z.strictObject({
  name: name.schema,
  description: description.schema.default(description.default),
  url: url.schema,
  redirectUrls: redirectUrls.schema,
  logoUrl: logoUrl.schema.default(logoUrl.default),
  publicKey: publicKeyInput,
  abilities: abilities.schema.default([...abilities.default]),
  needsKeys: needsKeys.schema.optional(),
  linkDays: linkDays.schema.default(linkDays.default),
})

/** Contents of the file that EXT_APPS names. */
export const appsFile = z.strictObject({ apps: z.array(appSchema).max(1000) }).superRefine(({ apps }, ctx) => {
  for (const [index, { name }] of apps.entries()) {
    if (apps.findIndex((other) => other.name === name) === index) continue
    ctx.addIssue({ code: 'custom', path: ['apps', index, 'name'], message: `there are two apps named ${name}` })
  }
})
export type AppsFile = z.output<typeof appsFile>

/**
 * Brings the apps into line with the file. Apps of administrators stay, and one with the name of an entry becomes the
 * file's. An app that left the file is switched off with its links and belongs to administrators; it is switched on
 * again when it returns. An app that an administrator switched off stays off.
 */
export const syncApps = (ctx: Context, { apps }: AppsFile) =>
  withChangeLog(ctx, async (em, changes) => {
    // Replicas that start at the same time take turns.
    await runStatement(em, acquireLock, [locks.syncApps])
    // The lock keeps administrators from switching an app off between this read and the write.
    const locked = { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: 'asc' } } as const
    const rows = new Map((await em.find(ExtApp, {}, locked)).map((row) => [row.name, row]))
    const writtenRows = []
    for (const entry of apps) writtenRows.push(await writeApp({ em, changes }, entry, rows.get(entry.name)))
    await em.flush()
    for (const { id, name } of writtenRows.filter((row) => !rows.has(row.name)))
      await ctx.services.process.hooks.emitSerial('name-taken', { subject: 'app', id, name, em })
    const names = new Set(apps.map((entry) => entry.name))
    const removedRows = [...rows.values()].filter((row) => row.fromFile && !names.has(row.name))
    const switchedOff = removedRows.filter((row) => row.active).map((row) => row.name)
    for (const row of removedRows) {
      em.assign(row, { fromFile: false, leftFile: row.active, active: false })
      await suspendLinks({ em, changes }, row.id)
    }
    const stayedOff = writtenRows.filter((row) => !row.active).map((row) => row.name)
    return { apps: apps.length, switchedOff, stayedOff }
  })

async function writeApp(
  { em, changes }: ChangeTransaction,
  entry: AppsFile['apps'][number],
  row: InferEntity<typeof ExtApp> | undefined,
) {
  const active = !row || row.active || row.leftFile
  const publicKey = normalizePublicKey(entry.publicKey)
  const values = {
    ...entry,
    // An existing app keeps its value if the file has none.
    needsKeys: entry.needsKeys ?? row?.needsKeys ?? needsKeys.default,
    publicKey,
    active,
    fromFile: true,
    leftFile: false,
  }
  if (!row) return em.create(ExtApp, values)
  await endLinksOfOtherKey({ em, changes }, row.id, values.publicKey)
  return em.assign(row, values)
}
