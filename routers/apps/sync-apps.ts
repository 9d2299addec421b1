import { type InferEntity, LockMode } from '@mikro-orm/core'
import { z } from 'zod'
import { ExtApp } from '../../entities/apps/ext-app.ts'
import { acquireLock, locks } from '../../entities/sql/locks.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'
import type { WrittenRow } from '../verbs/write.ts'
import { givenPublicKey, keptPublicKey } from './app-key.ts'
import { suspendLinks } from './app-links.ts'
import { endLinksOfOtherKey } from './change-app.ts'
import { extApps } from './ext-app.ts'

const { name, description, url, redirectUrls, logoUrl, abilities, needsKeys, linkDays } = extApps.attributes

/** One app as an administrator writes it. The file has no secrets: the app brings its key, and a command makes its credential. */
const entry = z.strictObject({
  name: name.schema,
  description: description.schema.default(description.default),
  url: url.schema,
  redirectUrls: redirectUrls.schema,
  logoUrl: logoUrl.schema.default(logoUrl.default),
  publicKey: givenPublicKey,
  abilities: abilities.schema.default([...abilities.default]),
  needsKeys: needsKeys.schema.optional(),
  linkDays: linkDays.schema.default(linkDays.default),
})

/** The file that EXT_APPS names. */
export const appsFile = z.strictObject({ apps: z.array(entry).max(1000) }).superRefine(({ apps }, ctx) => {
  for (const [index, { name }] of apps.entries()) {
    if (apps.findIndex((other) => other.name === name) === index) continue
    ctx.addIssue({ code: 'custom', path: ['apps', index, 'name'], message: `there are two apps named ${name}` })
  }
})
export type AppsFile = z.output<typeof appsFile>

/**
 * Brings the apps to what the file says; those of administrators stay, and one of the same name becomes the file's. What is
 * no longer in it is switched off with its links, belongs to administrators, and is on again when it returns. What an
 * administrator switched off stays off, whatever the file says.
 */
export const syncApps = (ctx: Context, { apps }: AppsFile) =>
  withChangeLog(ctx, async (em, changes) => {
    // Replicas that start at once take turns.
    await runStatement(em, acquireLock, [locks.syncApps])
    // Nobody switches one off between this look at it and what is made of it.
    const locked = { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: 'asc' } } as const
    const rows = new Map((await em.find(ExtApp, {}, locked)).map((row) => [row.name, row]))
    const written = []
    for (const given of apps) written.push(await write({ em, changes }, given, rows.get(given.name)))
    await em.flush()
    for (const { id, name } of written.filter((row) => !rows.has(row.name)))
      await ctx.services.hooks.emitSerial('name-taken', { subject: 'app', id, name, em })
    const names = new Set(apps.map((given) => given.name))
    const gone = [...rows.values()].filter((row) => row.fromFile && !names.has(row.name))
    const switchedOff = gone.filter((row) => row.active).map((row) => row.name)
    for (const row of gone) {
      em.assign(row, { fromFile: false, leftFile: row.active, active: false })
      await suspendLinks({ em, changes }, row.id)
    }
    const stayedOff = written.filter((row) => !row.active).map((row) => row.name)
    return { apps: apps.length, switchedOff, stayedOff }
  })

async function write(
  { em, changes }: Pick<WrittenRow, 'em' | 'changes'>,
  given: AppsFile['apps'][number],
  row: InferEntity<typeof ExtApp> | undefined,
) {
  const active = !row || row.active || row.leftFile
  const publicKey = keptPublicKey(given.publicKey)
  // An app that is there keeps what it has where the file says nothing.
  const keys = given.needsKeys ?? row?.needsKeys ?? needsKeys.default
  const wanted = { ...given, needsKeys: keys, publicKey, active, fromFile: true, leftFile: false }
  if (!row) return em.create(ExtApp, wanted)
  await endLinksOfOtherKey({ em, changes }, row.id, wanted.publicKey)
  return em.assign(row, wanted)
}
