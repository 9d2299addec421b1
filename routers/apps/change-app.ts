import type { EntityManager } from '@mikro-orm/postgresql'
import { findAppName, lockApp } from '../../entities/apps/ext-app.sql.ts'
import { type Context, describeActor } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import type { RecordOf } from '../resource/record.ts'
import type { Version } from '../verbs/lock-row.ts'
import { createRow, deleteRow, updateRow, type WrittenRow } from '../verbs/write.ts'
import type { RowChange } from '../verbs/write-inputs.ts'
import { addCredential, type NewCredential } from './app-credential.ts'
import { type KeyPair, keptPublicKey, makeKeyPair } from './app-key.ts'
import { endAllLinks, suspendLinks } from './app-links.ts'
import { extApps } from './ext-app.ts'

export type ExtAppRecord = RecordOf<typeof extApps>

type GivenApp = Record<string, unknown>

/** Makes an app with its first credential, and with a pair of keys where it brings none. */
export async function createApp(ctx: Context, { credentialExpiresAt, ...given }: GivenApp): Promise<ExtAppRecord> {
  const { publicKey, ...made } = await keysFor(given['publicKey'])
  let credential: NewCredential | undefined
  const record = await createRow(
    ctx,
    extApps,
    { ...given, publicKey },
    {
      afterFlush: async ({ em, row }) => {
        credential = await addCredential(em, row.id, credentialExpiresAt as string | null)
        const name = String(given['name'])
        await ctx.services.hooks.emitSerial('name-taken', { subject: 'app', id: row.id, name, em })
      },
    },
  )
  const appId = Number(record.id)
  ctx.services.log.info({ ...describeActor(ctx), appId, credentialId: credential?.id }, 'an external app was made')
  return { ...record, credential: credential?.text ?? '', ...made }
}

/** Changes an app. With another key its links end: it can open nothing that was sealed for the one before. */
export async function updateApp(ctx: Context, change: RowChange): Promise<ExtAppRecord> {
  const { publicKey, ...made } = change['publicKey'] === undefined ? {} : await keysFor(change['publicKey'])
  let from: string | undefined
  const record = await updateRow(ctx, extApps, publicKey === undefined ? change : { ...change, publicKey }, {
    async beforeWrite(em, changes) {
      await assertChangedHere(em, change)
      if (change['name'] !== undefined) from = await readName(em, Number(change.id))
      if (publicKey !== undefined) await endLinksOfOtherKey({ em, changes }, Number(change.id), publicKey)
    },
    // From now on this decides, and not the return to the file.
    completeRow: ({ active }) => (active === undefined ? {} : { leftFile: false }),
    async afterFlush({ em, changes, row }) {
      if (change['active'] === false) await suspendLinks({ em, changes }, row.id)
      await tellOfName(ctx, em, { id: row.id, from, to: String(change['name']) })
    },
  })
  const { id, ifVersion, ...changed } = change
  const details = { ...describeActor(ctx), appId: Number(id), changed: Object.keys(changed) }
  ctx.services.log.info(details, 'an external app was changed')
  return { ...record, ...made }
}

/** Removes an app with its links. One of the file would be back at the next start: it leaves the file first. */
export async function deleteApp(ctx: Context, given: Version): Promise<{ id: string }> {
  const deleted = await deleteRow(ctx, extApps, given, {
    async beforeDelete({ em, changes, row }) {
      await assertNotInFile(em, row.id)
      const name = await readName(em, row.id)
      await ctx.services.hooks.emitSerial('name-freed', { subject: 'app', id: row.id, name, em })
      await endAllLinks({ em, changes }, row.id)
    },
  })
  ctx.services.log.info({ ...describeActor(ctx), appId: Number(deleted.id) }, 'an external app was removed')
  return deleted
}

/** Every app can be switched off here, at once; what else an app of the file is, the file says. */
async function assertChangedHere(em: EntityManager, { id, ifVersion, active, ...others }: RowChange): Promise<void> {
  if (Object.keys(others).length > 0) await assertNotInFile(em, Number(id))
}

async function assertNotInFile(em: EntityManager, id: number): Promise<void> {
  const [app] = await runStatement(em, lockApp, [id])
  if (app?.inFile)
    throw new Problem('conflict', {
      detail: 'This app stands in the file that EXT_APPS names. Change it there; only `active` can be changed here.',
    })
}

async function readName(em: EntityManager, id: number): Promise<string> {
  const [app] = await runStatement(em, findAppName, [id])
  return app?.name ?? ''
}

/** Nothing where the name is not changed. */
async function tellOfName(
  { services: { hooks } }: Context,
  em: EntityManager,
  { id, from, to }: { id: number; from: string | undefined; to: string },
): Promise<void> {
  if (from === undefined || from === to) return
  await hooks.emitSerial('name-freed', { subject: 'app', id, name: from, em })
  await hooks.emitSerial('name-taken', { subject: 'app', id, name: to, em })
}

const keysFor = async (given: unknown): Promise<Pick<KeyPair, 'publicKey'> & Partial<KeyPair>> =>
  given === null ? makeKeyPair() : { publicKey: keptPublicKey(String(given)) }

export async function endLinksOfOtherKey(
  { em, changes }: Pick<WrittenRow, 'em' | 'changes'>,
  id: number,
  publicKey: string,
): Promise<void> {
  const [app] = await runStatement(em, lockApp, [id])
  if (app && app.publicKey !== publicKey) await endAllLinks({ em, changes }, id)
}
