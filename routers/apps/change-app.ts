import type { EntityManager } from '@mikro-orm/postgresql'
import { findAppName, lockApp } from '../../entities/apps/ext-app.sql.ts'
import type { ChangeTransaction } from '../core/change-recorder.ts'
import { type Context, describeActor } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import type { RecordOf } from '../resource/record.ts'
import type { Version } from '../verbs/lock-row.ts'
import { createRow, deleteRow, updateRow } from '../verbs/write.ts'
import type { RowChange } from '../verbs/write-inputs.ts'
import { addCredential, type NewCredential } from './app-credential.ts'
import { type KeyPair, makeKeyPair, normalizePublicKey } from './app-key.ts'
import { endAllLinks, suspendLinks } from './app-links.ts'
import { extApps } from './ext-app.ts'

export type ExtAppRecord = RecordOf<typeof extApps>

type AppInput = Record<string, unknown>

/** Creates an app with its first credential, and with a key pair if it brings no public key. */
export async function createApp(ctx: Context, { credentialExpiresAt, ...input }: AppInput): Promise<ExtAppRecord> {
  const { publicKey, ...newKeys } = await prepareKeys(input['publicKey'])
  let credential: NewCredential | undefined
  const record = await createRow(
    ctx,
    extApps,
    { ...input, publicKey },
    {
      afterFlush: async ({ em, row }) => {
        credential = await addCredential(em, row.id, credentialExpiresAt as string | null)
        const name = String(input['name'])
        await ctx.services.process.hooks.emitSerial('name-taken', { subject: 'app', id: row.id, name, em })
      },
    },
  )
  const appId = Number(record.id)
  ctx.services.log.info({ ...describeActor(ctx), appId, credentialId: credential?.id }, 'an external app was made')
  return { ...record, credential: credential?.text ?? '', ...newKeys }
}

/** Updates an app. A new key ends its links, because the app can no longer open their secrets. */
export async function updateApp(ctx: Context, change: RowChange): Promise<ExtAppRecord> {
  const { publicKey, ...newKeys } = change['publicKey'] === undefined ? {} : await prepareKeys(change['publicKey'])
  let nameBefore: string | undefined
  const record = await updateRow(ctx, extApps, publicKey === undefined ? change : { ...change, publicKey }, {
    async beforeWrite(em, changes) {
      await assertCanChange(em, change)
      if (change['name'] !== undefined) nameBefore = await readName(em, Number(change.id))
      if (publicKey !== undefined) await endLinksOfOtherKey({ em, changes }, Number(change.id), publicKey)
    },
    // From now on the administrator's choice applies, and not a return of the app to the file.
    completeRow: ({ active }) => (active === undefined ? {} : { leftFile: false }),
    async afterFlush({ em, changes, row }) {
      if (change['active'] === false) await suspendLinks({ em, changes }, row.id)
      await announceRename(ctx, em, { id: row.id, nameBefore, to: String(change['name']) })
    },
  })
  const { id, ifVersion, ...changed } = change
  const details = { ...describeActor(ctx), appId: Number(id), changed: Object.keys(changed) }
  ctx.services.log.info(details, 'an external app was changed')
  return { ...record, ...newKeys }
}

/**
 * Deletes an app with its links. An app of the file must leave the file first, as the next start would bring it back.
 */
export async function deleteApp(ctx: Context, input: Version): Promise<{ id: string }> {
  const deleted = await deleteRow(ctx, extApps, input, {
    async beforeDelete({ em, changes, row }) {
      await assertNotInFile(em, row.id)
      const name = await readName(em, row.id)
      await ctx.services.process.hooks.emitSerial('name-freed', { subject: 'app', id: row.id, name, em })
      await endAllLinks({ em, changes }, row.id)
    },
  })
  ctx.services.log.info({ ...describeActor(ctx), appId: Number(deleted.id) }, 'an external app was removed')
  return deleted
}

/** Allows only `active` to be changed for an app of the file; the file determines everything else. */
async function assertCanChange(em: EntityManager, { id, ifVersion, active, ...others }: RowChange): Promise<void> {
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

/** Announces the old name as free and the new one as taken, if the name changed. */
async function announceRename(
  { services }: Context,
  em: EntityManager,
  { id, nameBefore, to }: { id: number; nameBefore: string | undefined; to: string },
): Promise<void> {
  if (nameBefore === undefined || nameBefore === to) return
  await services.process.hooks.emitSerial('name-freed', { subject: 'app', id, name: nameBefore, em })
  await services.process.hooks.emitSerial('name-taken', { subject: 'app', id, name: to, em })
}

const prepareKeys = async (publicKey: unknown): Promise<Pick<KeyPair, 'publicKey'> & Partial<KeyPair>> =>
  publicKey === null ? makeKeyPair() : { publicKey: normalizePublicKey(String(publicKey)) }

export async function endLinksOfOtherKey(
  { em, changes }: ChangeTransaction,
  id: number,
  publicKey: string,
): Promise<void> {
  const [app] = await runStatement(em, lockApp, [id])
  if (app && app.publicKey !== publicKey) await endAllLinks({ em, changes }, id)
}
