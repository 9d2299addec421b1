import { z } from 'zod'
import { beginKeyEpoch, storeWrappedKeys } from '../../entities/rooms/room-key.sql.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { resourceId } from '../resource/ids.ts'
import type { RecordOf } from '../resource/record.ts'
import { getRow } from '../verbs/read.ts'
import { enterAsWriter, type Recipients, recipientsOf } from './recipients.ts'
import type { EnteredRoom } from './room-access.ts'
import { roomText } from './room-text.ts'
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

const textNames = ['roomDescription', 'systemPrompt'] as const
const sameText = roomText.min(1).optional()

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
  roomDescription: sameText.describe('The same description, encrypted with the new key by an administrator.'),
  systemPrompt: sameText.describe('The same system prompt, encrypted with the new key by an administrator.'),
})

type NewKey = z.output<typeof newKey>

/** Gives a room its next key. Whoever joins, leaves or writes at this moment waits, so nobody is left out or kept in. */
export async function rekey(ctx: Context, given: NewKey): Promise<{ data: RecordOf<typeof rooms> }> {
  const id = Number(given.id)
  await changing(ctx, async (em, changes) => {
    const room = await enterAsWriter(ctx, em, id)
    assertNext(room, given)
    const found = await recipientsOf(em, room)
    assertForExactly(found, given)
    assertMayReplaceTexts(found, given)
    const texts = textNames.map((name) => given[name] ?? null)
    await em.execute(beginKeyEpoch, [id, given.keyEpoch, given.previousKey ?? null, ...texts])
    await em.execute(storeWrappedKeys, [id, given.keyEpoch, JSON.stringify(given.keys)])
    changes.add([`room:${id}`], 'updated', rooms.type, id)
  })
  return { data: await getRow(ctx, rooms, given.id) }
}

function assertNext({ keyEpoch, sharesEarlierKeys }: EnteredRoom, given: NewKey): void {
  if (given.keyEpoch !== keyEpoch + 1)
    throw new Problem('conflict', { detail: `The next key of the room has the number ${keyEpoch + 1}.` })
  if (sharesEarlierKeys === (given.previousKey !== undefined)) return
  const message = sharesEarlierKeys
    ? 'is needed: the room shares its earlier keys'
    : 'must be absent: the room does not share its earlier keys'
  throw new Problem('invalid', { issues: [{ path: ['previousKey'], message }] })
}

function assertForExactly({ recipients, version }: Recipients, given: NewKey): void {
  const users = new Set(given.keys.map(({ user }) => user))
  const isExact = users.size === recipients.length && recipients.every(({ id }) => users.has(id))
  if (isExact && given.recipients === version) return
  throw new Problem('conflict', {
    detail: 'The members of the room, their public keys or its texts are others: read them anew.',
  })
}

/** What is said to be the same text may be another one, so only who may change the room sends it; and only where there is one. */
function assertMayReplaceTexts(found: Recipients, given: NewKey): void {
  const replaced = textNames.filter((name) => given[name] !== undefined)
  if (replaced.length > 0 && found.role !== 'admin') throw new Problem('not_permitted')
  const missing = replaced.filter((name) => found[name] === null)
  const issues = missing.map((name) => ({ path: [name], message: 'must be absent: the room has none' }))
  if (issues.length > 0) throw new Problem('invalid', { issues })
}
