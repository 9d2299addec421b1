import { createHash, timingSafeEqual } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { storeWrappedKey } from '../../../entities/rooms/room-key.sql.ts'
import {
  beginReading,
  dropInvitationsOf,
  findFormerMembership,
  findInvitation,
  findMembership,
  type Invitation,
  restoreMembership,
  turnIntoMembership,
  type Withdrawn,
} from '../../../entities/rooms/room-member.sql.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import { changing } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runNamed } from '../../core/run-named.ts'
import { consumePeopleSearch } from '../../identity/find-people.ts'
import { notFound } from '../../verbs/lock.ts'
import { getRow } from '../../verbs/read.ts'
import { askForNewKey } from '../require-rekey.ts'
import { type LockedRoom, lockRoomById, sizeOf } from '../room-access.ts'
import { assertMayEnterOneMore, assertRoomForMember } from '../room-quotas.ts'
import { isInvitation, type MemberRecord, roomMembers } from './members.ts'
import { noteWithdrawn } from './note-invitations.ts'

export interface Accepting {
  id: string
  /** That the caller has the link, where the invitation asks for it. */
  proof?: string | undefined
}

export interface Accepted {
  data: MemberRecord
  /** What the browser keeps before the invitation is gone. */
  meta: { wrappedKey: string; keyEpoch: number }
}

/** What somebody with an invitation is about to accept. */
export type Preview = Pick<Invitation, 'role' | 'roomName' | 'inviterName' | 'expiresAt'>

/** Shows an invitation to whom it is for, or who has its link; it can be accepted as before. Counted like a search for people. */
export async function preview(ctx: Context, person: number, accepting: Accepting): Promise<{ meta: Preview }> {
  await consumePeopleSearch(ctx, person)
  const { role, roomName, inviterName, expiresAt } = await find(ctx.em(), person, accepting)
  return { meta: { role, roomName, inviterName, expiresAt } }
}

/** Makes the caller a member, with the role that the invitation names. Who was one before gets their membership back. */
export async function accept(ctx: Context, person: number, accepting: Accepting): Promise<Accepted> {
  const { id, invitation } = await changing(ctx, async (em, changes) => {
    // In the order in which everybody locks: first the person, then the room.
    await assertMayEnterOneMore(ctx, em, person)
    const { roomId } = await find(em, person, accepting)
    const room = await lockRoomById(em, roomId)
    const invitation = await find(em, person, accepting)
    const [member] = await runNamed(em, findMembership, [roomId, person])
    if (member) throw new Problem('conflict', { detail: 'You are a member already.' })
    assertRoomForMember(ctx, await sizeOf(em, roomId))
    const id = await become(em, changes, person, invitation)
    await keepKey({ em, changes }, room, person, invitation)
    return { id, invitation }
  })
  const { wrappedKey, keyEpoch } = invitation
  return { data: await getRow(ctx, roomMembers, String(id)), meta: { wrappedKey, keyEpoch } }
}

/** An invitation that is meant for the caller; throws where there is none, or where they do not have its link. */
async function find(em: EntityManager, person: number, { id, proof }: Accepting): Promise<Invitation> {
  const key = isInvitation(id) ? roomMembers.ids.keyOf(id) : 0
  const [invitation] = await em.execute<Invitation[]>(findInvitation, [key, person, person])
  if (!invitation) throw notFound(roomMembers, id)
  if (invitation.proofHash === null || isProof(proof, invitation.proofHash)) return invitation
  // A link without a name is not there for who does not have it.
  if (invitation.userId === null) throw notFound(roomMembers, id)
  throw new Problem('invalid', { issues: [{ path: ['proof'], message: 'is not that of the link' }] })
}

const isProof = (proof = '', hash: string) =>
  timingSafeEqual(createHash('sha256').update(proof).digest(), Buffer.from(hash, 'base64url'))

async function become(
  em: EntityManager,
  changes: ChangeRecorder,
  person: number,
  { id, roomId, role, userId, firstKeyEpoch }: Invitation,
): Promise<number> {
  const [former] = await em.execute<{ id: number }[]>(findFormerMembership, [roomId, person])
  if (former) await em.execute(restoreMembership, [role, firstKeyEpoch, former.id])
  else await em.execute(turnIntoMembership, [person, firstKeyEpoch, id])
  const member = former?.id ?? id
  if (former) await em.execute('delete from room_members where id = ?', [id])
  // Another one that was meant for them has nothing left to say.
  noteWithdrawn(changes, roomId, [
    { id, userId },
    ...(await em.execute<Withdrawn[]>(dropInvitationsOf, [roomId, person])),
  ])
  await em.execute(beginReading, [person, roomId])
  changes.add([`room:${roomId}`], 'created', roomMembers.type, member)
  changes.add([`user:${person}`], 'created', 'rooms', roomId)
  return member
}

/** Keeps a key that is wrapped for the person; asks for a new one where theirs is not in use any more. */
async function keepKey(
  at: { em: EntityManager; changes: ChangeRecorder },
  room: LockedRoom,
  person: number,
  { wrappedKey, keyEpoch }: Invitation,
): Promise<void> {
  // One that the secret of a link opens is for the browser that has the link.
  if (!wrappedKey.includes('|')) await at.em.execute(storeWrappedKey, [room.id, person, keyEpoch, wrappedKey])
  if (keyEpoch !== room.keyEpoch) await askForNewKey(at, [room.id])
}
