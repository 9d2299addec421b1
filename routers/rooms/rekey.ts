import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { beginKeyEpoch, findRecipients, type Recipient, storeWrappedKeys } from '../../entities/rooms/room-key.sql.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { resourceId } from '../resource/ids.ts'
import type { RecordOf } from '../resource/record.ts'
import { getRow } from '../verbs/read.ts'
import { type EnteredRoom, enterRoom } from './room-access.ts'
import { rooms } from './rooms.ts'

const MAX_MEMBERS = 500
const base64 = '[A-Za-z0-9+/]+={0,2}'
const asBase64 = (parts: number) => new RegExp(`^${Array(parts).fill(base64).join('\\|')}$`)

const wrappedKey = z
  .string()
  .max(1024)
  .regex(asBase64(1), { error: 'must be base64' })
  .describe('The new key, encrypted with the public key of the member.')

const previousKey = z
  .string()
  .max(1024)
  .regex(asBase64(3), { error: 'must be iv|tag|ciphertext, each in base64' })
  .optional()
  .describe(
    'The key before, encrypted with the new one: needed where the room shares its earlier keys, and refused elsewhere.',
  )

/** What a browser sends that has made the next key of a room. */
export const newKey = z.strictObject({
  id: resourceId,
  keyEpoch: z.int().min(1).max(1_000_000).describe('The number of the new key, which is one more than that in use.'),
  recipients: z
    .string()
    .regex(/^[0-9a-f]{64}$/, { error: 'must be that of the recipients' })
    .describe('The `version` of the recipients for whom the key is wrapped.'),
  keys: z
    .array(z.strictObject({ user: resourceId, wrappedKey }))
    .min(1)
    .max(MAX_MEMBERS)
    .refine((keys) => new Set(keys.map(({ user }) => user)).size === keys.length, 'names a member twice'),
  previousKey,
})

type NewKey = z.output<typeof newKey>

interface Recipients {
  meta: {
    /** The number that the next key will have. */
    keyEpoch: number
    /** Changes with every member and every public key. */
    version: string
    recipients: Recipient[]
  }
}

/** For whom the next key has to be wrapped, asked by somebody who may make it. */
export function readRecipients(ctx: Context, id: number): Promise<Recipients> {
  return ctx.em().transactional(async (em) => {
    const { keyEpoch } = await enterAsWriter(ctx, em, id)
    const recipients = await em.execute<Recipient[]>(findRecipients, [id])
    return { meta: { keyEpoch: keyEpoch + 1, version: versionOf(recipients), recipients } }
  })
}

/** Gives a room its next key. Whoever joins, leaves or writes at this moment waits, so nobody is left out or kept in. */
export async function rekey(ctx: Context, given: NewKey): Promise<{ data: RecordOf<typeof rooms> }> {
  const id = Number(given.id)
  await changing(ctx, async (em, changes) => {
    const room = await enterAsWriter(ctx, em, id)
    assertNext(room, given)
    assertForExactly(await em.execute<Recipient[]>(findRecipients, [id]), given)
    await em.execute(beginKeyEpoch, [id, given.keyEpoch, given.previousKey ?? null])
    await em.execute(storeWrappedKeys, [id, given.keyEpoch, JSON.stringify(given.keys)])
    changes.add([`room:${id}`], 'updated', rooms.type, id)
  })
  return { data: await getRow(ctx, rooms, given.id) }
}

const enterAsWriter = (ctx: Context, em: EntityManager, id: number) => enterRoom(ctx, em, id, ['admin', 'editor'])

function assertNext({ keyEpoch, sharesEarlierKeys }: EnteredRoom, given: NewKey): void {
  if (given.keyEpoch !== keyEpoch + 1)
    throw new Problem('conflict', { detail: `The next key of the room has the number ${keyEpoch + 1}.` })
  if (sharesEarlierKeys === (given.previousKey !== undefined)) return
  const message = sharesEarlierKeys
    ? 'is needed: the room shares its earlier keys'
    : 'must be absent: the room does not share its earlier keys'
  throw new Problem('invalid', { issues: [{ path: ['previousKey'], message }] })
}

function assertForExactly(recipients: readonly Recipient[], { keys, recipients: version }: NewKey): void {
  const given = new Set(keys.map(({ user }) => user))
  const isExact = given.size === recipients.length && recipients.every(({ id }) => given.has(id))
  if (isExact && version === versionOf(recipients)) return
  throw new Problem('conflict', {
    detail: 'The members of the room, or their public keys, are others: read them anew.',
  })
}

function versionOf(recipients: readonly Recipient[]): string {
  const hash = createHash('sha256')
  for (const { id, publicKey } of recipients) hash.update(`${id} ${publicKey}\n`)
  return hash.digest('hex')
}
