import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import {
  beginKeyEpoch,
  findKeyedMembers,
  findRoomTexts,
  findStoredKeys,
  type KeyedMember,
  type RoomTexts,
  storeKeyProof,
  storeWrappedKeys,
} from '../../entities/rooms/room-key.sql.ts'
import type { MemberRole } from '../../entities/rooms/room-member.ts'
import type { ChangeRecorder } from '../core/change-recorder.ts'
import { runInTransaction, withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runForOneRow, runStatement } from '../core/run-statement.ts'
import { about, router, userWith, withBodySize } from '../core/trpc.ts'
import { isPublicKey } from '../identity/keychain.ts'
import { resourceId } from '../resource/ids.ts'
import type { RecordOf } from '../resource/record.ts'
import { rowAction } from '../verbs/action.ts'
import { createNotFoundProblem } from '../verbs/lock-row.ts'
import { getRow } from '../verbs/read.ts'
import { isUnrestricted } from '../verbs/viewer.ts'
import { keyEpoch } from './message-content.ts'
import { type EnteredRoom, enterRoom } from './room-access.ts'
import { rooms, roomText } from './rooms.ts'

/** The largest page of keys: more than a room gets in years with a change every week. */
const MAX_KEYS = 500

const storedKeysInput = z.strictObject({
  id: resourceId,
  page: z
    .strictObject({
      after: z
        .string()
        .regex(/^\d{1,7}$/, { error: 'must be a number of a key' })
        .optional()
        .describe('The number of a key. The list has only later keys.'),
    })
    .optional(),
})

const MAX_MEMBERS = 500
const base64 = '[A-Za-z0-9+/]+={0,2}'
const toBase64Pattern = (parts: number) => new RegExp(`^${Array(parts).fill(base64).join('\\|')}$`)

const wrappedKey = z
  .string()
  .max(1024)
  .regex(toBase64Pattern(1), { error: 'must be base64' })
  .describe('The new key, encrypted with the public key of the member.')

const proof = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, { error: 'must be 32 bytes in base64' })
  .describe(
    "An HMAC of the member's public key, which proves to members with the room's key that one of them shared it.",
  )

const previousKey = z
  .string()
  .max(1024)
  .regex(toBase64Pattern(3), { error: 'must be iv|tag|ciphertext, each in base64' })
  .optional()
  .describe(
    'The previous key, encrypted with the new one. It is required if the room shares its earlier keys, and refused otherwise.',
  )

const textNames = ['roomDescription', 'systemPrompt'] as const
const reencryptedText = roomText.min(1).optional()

/** The input of a request for the next key of a room. */
const newKeyInput = z.strictObject({
  id: resourceId,
  keyEpoch: z
    .int()
    .min(1)
    .max(1_000_000)
    .describe('The number of the new key, which is one more than the current one.'),
  recipients: z
    .string()
    .regex(/^[0-9a-f]{64}$/, { error: 'must be that of the recipients' })
    .describe('The `version` of the recipients for whom the key is encrypted.'),
  keys: z
    .array(z.strictObject({ user: resourceId, wrappedKey, proof: proof.optional() }))
    .min(1)
    .max(MAX_MEMBERS)
    .refine((keys) => new Set(keys.map(({ user }) => user)).size === keys.length, 'names a member twice'),
  withheld: z
    .array(resourceId)
    .max(MAX_MEMBERS)
    .default([])
    .describe('The recipients whose public key the browser does not trust. They get no key.'),
  previousKey,
  roomDescription: reencryptedText.describe('The same description, encrypted with the new key by an administrator.'),
  systemPrompt: reencryptedText.describe('The same system prompt, encrypted with the new key by an administrator.'),
})

/** Procedures for the keys of a room, which the service stores and cannot open. */
export const roomKeysRouter = router({
  list: rowAction(rooms, 'keys', userWith('read'))
    .meta(
      about(
        'Read the keys of a room that were wrapped for the caller, and the earlier ones encrypted each with the next.',
      ),
    )
    .input(storedKeysInput)
    .query(({ ctx, input }) => readStoredKeys(ctx, ctx.caller.person.id, input)),

  recipients: rowAction(rooms, 'key-recipients', userWith('write'))
    .meta(about('List the people who need a new key of a room, with their public keys.'))
    .input(z.strictObject({ id: resourceId }))
    .query(({ ctx, input }) => readRecipients(ctx, Number(input.id))),

  rekey: rowAction(rooms, 'rekey', userWith('write'))
    .meta({ ...about('Give a room its next key, wrapped for each of its members.'), ...withBodySize('room keys') })
    .input(newKeyInput)
    .mutation(({ ctx, input }) => rekey(ctx, input)),

  prove: rowAction(rooms, 'prove-key', userWith('write'))
    .meta(about("Store the proof that whoever has the caller's private key has a key of the room."))
    .input(z.strictObject({ id: resourceId, keyEpoch, proof }))
    .mutation(({ ctx, input }) => storeOwnProof(ctx, ctx.caller.person.id, input)),
})

interface OwnProof {
  id: string
  keyEpoch: number
  proof: string
}

/** Reports the room as changed if it waits for a new key, which the member may get now. */
async function storeOwnProof(ctx: Context, person: number, { id, keyEpoch, proof }: OwnProof) {
  const room = Number(id)
  const store = async (em: EntityManager, changes: ChangeRecorder) => {
    const [stored] = await runStatement(em, storeKeyProof, [room, person, proof, keyEpoch])
    if (!stored) throw createNotFoundProblem(rooms, id)
    if (stored.isRekeyRequired) changes.add([`room:${room}`], 'updated', rooms.type, room)
  }
  await withChangeLog(ctx, store, `room:${room}`)
  return { meta: {} }
}

async function readStoredKeys(ctx: Context, person: number, { id, page }: z.output<typeof storedKeysInput>) {
  const after = page?.after === undefined ? -1 : Number(page.after)
  const [found] = await ctx.services.sql(findStoredKeys, [Number(id), person, after, MAX_KEYS + 1])
  if (!found) throw isUnrestricted(ctx) ? new Problem('not_permitted') : createNotFoundProblem(rooms, id)
  const { keys, ...rest } = found
  return { meta: { ...rest, keys: keys.slice(0, MAX_KEYS), hasMore: keys.length > MAX_KEYS } }
}

interface Recipient extends KeyedMember {
  publicKey: string
}

/** The recipients of the next key, and the texts that were encrypted with earlier ones. */
interface Recipients {
  /** The number of the next key. */
  keyEpoch: number
  /** A hash of all members, public keys and texts. */
  version: string
  /** True if a former member has the current key. */
  isKeyExposed: boolean
  recipients: Recipient[]
  /** Members who get no key until they have created keys of their own. */
  withoutKeys: string[]
  sharesEarlierKeys: boolean
  /** The role of the caller: only administrators re-encrypt the texts. */
  role: MemberRole
  roomDescription: string | null
  systemPrompt: string | null
}

/** Reads the recipients for a member; those who may not write compare the public keys. */
function readRecipients(ctx: Context, id: number): Promise<{ meta: Recipients }> {
  return runInTransaction(ctx, `room:${id}`, async (em) => ({
    meta: await findRecipients(em, await enterRoom(ctx, em, id, ['admin', 'editor', 'viewer'])),
  }))
}

const enterAsWriter = (ctx: Context, em: EntityManager, id: number) => enterRoom(ctx, em, id, ['admin', 'editor'])

/** Finds the recipients of a locked room. */
async function findRecipients(
  em: EntityManager,
  { id, keyEpoch, minKeyEpoch, sharesEarlierKeys, member: { role } }: EnteredRoom,
): Promise<Recipients> {
  const members = await runStatement(em, findKeyedMembers, [id])
  const texts = await runForOneRow(em, findRoomTexts, [id])
  const recipients = members.filter(hasKeys)
  const withoutKeys = members.filter((member) => !hasKeys(member)).map(({ id }) => id)
  const version = hashRecipients(recipients, texts)
  const isKeyExposed = keyEpoch < minKeyEpoch
  return { keyEpoch: keyEpoch + 1, version, isKeyExposed, recipients, withoutKeys, sharesEarlierKeys, role, ...texts }
}

/** Returns true for a member with a valid public key. An invalid one would block the key for all others. */
const hasKeys = (member: KeyedMember): member is Recipient => member.publicKey !== null && isPublicKey(member.publicKey)

function hashRecipients(recipients: readonly Recipient[], { roomDescription, systemPrompt }: RoomTexts): string {
  const hash = createHash('sha256')
  for (const { id, publicKey } of recipients) hash.update(`${id} ${publicKey}\n`)
  return hash.update(JSON.stringify([roomDescription, systemPrompt])).digest('hex')
}

type NewKey = z.output<typeof newKeyInput>

/**
 * Stores the next key of a room under its lock, so that joining, leaving and writing wait, and the recipients are
 * exact.
 */
async function rekey(ctx: Context, input: NewKey): Promise<{ data: RecordOf<typeof rooms> }> {
  const id = Number(input.id)
  const replaceKey = async (em: EntityManager, changes: ChangeRecorder) => {
    const room = await enterAsWriter(ctx, em, id)
    assertNextEpoch(room, input)
    const found = await findRecipients(em, room)
    assertWrappedForAll(found, input)
    assertMayReplaceTexts(found, input)
    const texts = textNames.map((name) => input[name] ?? null)
    const values = [id, input.keyEpoch, input.previousKey ?? null, ...texts, input.withheld.length > 0]
    await runStatement(em, beginKeyEpoch, values)
    await runStatement(em, storeWrappedKeys, [id, input.keyEpoch, JSON.stringify(input.keys)])
    changes.add([`room:${id}`], 'updated', rooms.type, id)
  }
  await withChangeLog(ctx, replaceKey, `room:${id}`)
  return { data: await getRow(ctx, rooms, input.id) }
}

function assertNextEpoch({ keyEpoch, sharesEarlierKeys }: EnteredRoom, input: NewKey): void {
  if (input.keyEpoch !== keyEpoch + 1)
    throw new Problem('conflict', { detail: `The next key of the room has the number ${keyEpoch + 1}.` })
  if (sharesEarlierKeys === (input.previousKey !== undefined)) return
  const message = sharesEarlierKeys
    ? 'is needed: the room shares its earlier keys'
    : 'must be absent: the room does not share its earlier keys'
  throw new Problem('invalid', { issues: [{ path: ['previousKey'], message }] })
}

function assertWrappedForAll({ recipients, version }: Recipients, input: NewKey): void {
  const named = [...input.keys.map(({ user }) => user), ...input.withheld]
  const users = new Set(named)
  const isExact =
    users.size === named.length && users.size === recipients.length && recipients.every(({ id }) => users.has(id))
  if (isExact && input.recipients === version) return
  throw new Problem('conflict', {
    detail: 'The members of the room, their public keys or its texts have changed. Read them again.',
  })
}

/**
 * Only administrators may send texts, because the service cannot verify that a re-encrypted text is unchanged; and only
 * texts that exist may be sent.
 */
function assertMayReplaceTexts(found: Recipients, input: NewKey): void {
  const replaced = textNames.filter((name) => input[name] !== undefined)
  if (replaced.length > 0 && found.role !== 'admin') throw new Problem('not_permitted')
  const missing = replaced.filter((name) => found[name] === null)
  const issues = missing.map((name) => ({ path: [name], message: 'must be absent: the room has none' }))
  if (issues.length > 0) throw new Problem('invalid', { issues })
}
