import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { findKeyedMembers, findRoomTexts, type KeyedMember, type RoomTexts } from '../../entities/rooms/room-key.sql.ts'
import type { MemberRole } from '../../entities/rooms/room-member.ts'
import type { Context } from '../core/context.ts'
import { isPublicKey } from '../identity/public-key.ts'
import { type EnteredRoom, enterRoom } from './room-access.ts'

interface Recipient {
  id: string
  publicKey: string
}

/** For whom the next key of a room is, and what was encrypted with those before. */
export interface Recipients {
  /** The number that the next key will have. */
  keyEpoch: number
  /** Changes with every member, every public key and the texts. */
  version: string
  recipients: Recipient[]
  /** The members who get no key before they make keys of their own. */
  withoutKeys: string[]
  sharesEarlierKeys: boolean
  /** What the caller may do: the texts are encrypted anew by administrators alone. */
  role: MemberRole
  roomDescription: string | null
  systemPrompt: string | null
}

/** Asked by somebody who may make the next key. */
export function readRecipients(ctx: Context, id: number): Promise<{ meta: Recipients }> {
  return ctx.em().transactional(async (em) => ({ meta: await recipientsOf(em, await enterAsWriter(ctx, em, id)) }))
}

export const enterAsWriter = (ctx: Context, em: EntityManager, id: number) =>
  enterRoom(ctx, em, id, ['admin', 'editor'])

/** Of a room that is locked. */
export async function recipientsOf(
  em: EntityManager,
  { id, keyEpoch, sharesEarlierKeys, member: { role } }: EnteredRoom,
): Promise<Recipients> {
  const members = await em.execute<KeyedMember[]>(findKeyedMembers, [id])
  const [texts] = await em.execute<[RoomTexts]>(findRoomTexts, [id])
  const recipients = members.filter(hasKeys)
  const withoutKeys = members.filter((member) => !hasKeys(member)).map(({ id }) => id)
  const version = versionOf(recipients, texts)
  return { keyEpoch: keyEpoch + 1, version, recipients, withoutKeys, sharesEarlierKeys, role, ...texts }
}

/** One whose public key is none would keep the key from all others. */
const hasKeys = (member: KeyedMember): member is Recipient => member.publicKey !== null && isPublicKey(member.publicKey)

function versionOf(recipients: readonly Recipient[], { roomDescription, systemPrompt }: RoomTexts): string {
  const hash = createHash('sha256')
  for (const { id, publicKey } of recipients) hash.update(`${id} ${publicKey}\n`)
  return hash.update(JSON.stringify([roomDescription, systemPrompt])).digest('hex')
}
