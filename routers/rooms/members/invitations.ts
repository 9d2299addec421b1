import { createHash, timingSafeEqual } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { AI_USER_ID, User } from '../../../entities/identity/user.ts'
import { findPeopleByName } from '../../../entities/rooms/room.sql.ts'
import { storeWrappedKey } from '../../../entities/rooms/room-key.sql.ts'
import {
  beginReading,
  deleteExpiredInvitations,
  deleteInvitation,
  dropInvitationsOfUser,
  findFormerMembership,
  findInvitation,
  findMembership,
  type Invitation,
  lockPeople,
  putInvitation,
  restoreMembership,
  turnIntoMembership,
} from '../../../entities/rooms/room-member.sql.ts'
import { RoomMember } from '../../../entities/rooms/room-member.ts'
import { recordMemberEvent } from '../../../entities/rooms/room-member-event.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { ChangeRecorder, ChangeTransaction } from '../../core/change-recorder.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { createTransactionSql, runForOneRow, runStatement } from '../../core/run-statement.ts'
import { consumePeopleSearch } from '../../identity/find-people.ts'
import { resourceId } from '../../resource/ids.ts'
import type { CreateInput } from '../../resource/record.ts'
import { translateConstraintError } from '../../verbs/constraint-errors.ts'
import { createNotFoundProblem, createUnknownIssue } from '../../verbs/lock-row.ts'
import { getRow } from '../../verbs/read.ts'
import { requestRekey } from '../key-epochs.ts'
import {
  assertMayEnterOneMore,
  assertRoomForInvitation,
  assertRoomForMember,
  enterRoom,
  type LockedRoom,
  lockRoomById,
  measureSize,
} from '../room-access.ts'
import { recordWithdrawnInvitations, toStreams } from './member-events.ts'
import { invitationId, isInvitation, type MemberRecord, personRole, roomMembers } from './members.ts'

export type InvitationInput = CreateInput<typeof roomMembers>

/**
 * Invites somebody, or changes their invitation. The people search limit applies, because an invitation shows the name
 * of the invited person.
 */
export async function invite(ctx: Context, inviter: number, input: InvitationInput): Promise<MemberRecord> {
  if (input.user) await consumePeopleSearch(ctx, inviter)
  const store = (em: EntityManager, changes: ChangeRecorder) => storeInvitation(ctx, { em, changes, inviter }, input)
  const key = await withChangeLog(ctx, store, `room:${Number(input.room)}`).catch(translateConstraintError)
  return getRow(ctx, roomMembers, invitationId(key))
}

interface InvitationTransaction extends ChangeTransaction {
  inviter: number
}

/** Stores an invitation within a transaction. */
async function storeInvitation(
  ctx: Context,
  { em, changes, inviter }: InvitationTransaction,
  input: InvitationInput,
): Promise<number> {
  const { user = null, proofHash = null, role, wrappedKey, keyEpoch } = input
  const person = user === null ? null : Number(user)
  // Locks in the global order: first the people, then the room.
  await runStatement(em, lockPeople, [person === null ? [inviter] : [inviter, person]])
  const room = await enterRoom(ctx, em, Number(input.room), ['admin'])
  if (keyEpoch !== room.keyEpoch)
    throw new Problem('conflict', { detail: `The room uses the key with the number ${room.keyEpoch}.` })
  if (person === null && proofHash === null)
    throw new Problem('invalid', { issues: [{ path: ['proofHash'], message: 'is needed where nobody is named' }] })
  if (person !== null) await assertInvitable(em, room.id, person)
  await runStatement(em, deleteExpiredInvitations, [room.id])
  const size = await measureSize(em, room.id)
  // A change of an invitation makes neither number grow.
  if (person === null || !(await isInvited(em, room.id, person))) {
    assertRoomForInvitation(ctx, size)
    assertRoomForMember(ctx, size)
  }
  const { invitationLifetime } = ctx.services.settings.rooms
  const values = [room.id, person, role, inviter, wrappedKey, keyEpoch, proofHash, invitationLifetime]
  const { id, isNew } = await runForOneRow(em, putInvitation, values)

  changes.add(toStreams(room.id, person), isNew ? 'created' : 'updated', roomMembers.type, invitationId(id))
  return id
}

async function assertInvitable(em: EntityManager, room: number, person: number): Promise<void> {
  const found = person === AI_USER_ID ? null : await em.findOne(User, { id: person }, { fields: ['id'] })
  if (!found) throw new Problem('not_found', { issues: [createUnknownIssue('users', ['user'])] })
  const [member] = await runStatement(em, findMembership, [room, person])
  if (member) throw new Problem('conflict', { detail: 'This person is a member already.' })
}

const isInvited = async (em: EntityManager, room: number, user: number): Promise<boolean> =>
  (await em.count(RoomMember, { room, user, state: 'invited' })) > 0

const { wrappedKey, keyEpoch } = roomMembers.attributes

export const invitationsByName = z.strictObject({
  room: resourceId,
  invitations: z
    .array(
      z.strictObject({
        username: z.string().min(1).max(255),
        role: personRole,
        wrappedKey: wrappedKey.schema,
        keyEpoch: keyEpoch.schema.default(0),
      }),
    )
    .max(100),
})

type InvitationsByName = z.output<typeof invitationsByName>

/** Invites all named people or changes their invitations; if one cannot be invited, nobody is. */
export async function inviteByName(
  ctx: Context,
  inviter: number,
  { room, invitations }: InvitationsByName,
): Promise<{ invited: number }> {
  await Promise.all(invitations.map(() => consumePeopleSearch(ctx, inviter)))
  const people = await findPeopleIds(ctx, invitations)
  const storeAll = async (em: EntityManager, changes: ChangeRecorder) => {
    // Locks all people in one order, before the invitations are stored one by one.
    await runStatement(em, lockPeople, [[inviter, ...people.map(Number)]])
    for (const [index, { username: _, ...invitation }] of invitations.entries())
      await storeInvitation(
        ctx,
        { em, changes, inviter },
        { ...invitation, room, user: people[index] ?? null, proofHash: null },
      )
  }
  await withChangeLog(ctx, storeAll, `room:${Number(room)}`)
  return { invited: invitations.length }
}

async function findPeopleIds(ctx: Context, invitations: InvitationsByName['invitations']): Promise<string[]> {
  const names = invitations.map(({ username }) => username.toLowerCase())
  const found = await ctx.services.sql(findPeopleByName, [names])
  const byName = new Map(found.map(({ id, username }) => [username, id]))
  const issues = names.flatMap((name, index) =>
    byName.has(name) ? [] : [{ path: ['invitations', index, 'username'], message: 'is the name of nobody' }],
  )
  if (issues.length > 0) throw new Problem('not_found', { issues })
  return names.flatMap((name) => byName.get(name) ?? [])
}

export interface InvitationSelector {
  id: string
  /** Proves that the caller has the link, if the invitation requires one. */
  proof?: string | undefined
}

export interface AcceptedInvitation {
  data: MemberRecord
  /** The key for the browser, which the invitation holds no longer. */
  meta: { wrappedKey: string; keyEpoch: number }
}

/** The preview of an invitation. */
export type InvitationPreview = Pick<Invitation, 'role' | 'roomName' | 'inviterName' | 'expiresAt'>

/**
 * Shows an invitation to the invited person or a holder of its link, without accepting it. It counts as a people
 * search.
 */
export async function previewInvitation(
  ctx: Context,
  person: number,
  selector: InvitationSelector,
): Promise<{ meta: InvitationPreview }> {
  await consumePeopleSearch(ctx, person)
  const { role, roomName, inviterName, expiresAt } = await findInvitationFor(ctx.services.sql, person, selector)
  return { meta: { role, roomName, inviterName, expiresAt } }
}

/** Makes the caller a member with the role of the invitation. A former member gets their membership back. */
export async function acceptInvitation(
  ctx: Context,
  person: number,
  selector: InvitationSelector,
): Promise<AcceptedInvitation> {
  const { roomId } = await findInvitationFor(ctx.services.sql, person, selector)
  const enter = async (em: EntityManager, changes: ChangeRecorder) => {
    // Locks in the global order: first the person, then the room.
    await assertMayEnterOneMore(ctx, em, person)
    const room = await lockRoomById(em, roomId)
    const invitation = await findInvitationFor(createTransactionSql(em), person, selector)
    const [member] = await runStatement(em, findMembership, [roomId, person])
    if (member) throw new Problem('conflict', { detail: 'You are a member already.' })
    assertRoomForMember(ctx, await measureSize(em, roomId))
    const id = await admitMember(em, changes, person, invitation)
    await storeKeyOfInvitation({ em, changes }, room, person, invitation)
    return { id, invitation }
  }
  const { id, invitation } = await withChangeLog(ctx, enter, `room:${roomId}`)
  const { wrappedKey, keyEpoch } = invitation
  return { data: await getRow(ctx, roomMembers, String(id)), meta: { wrappedKey, keyEpoch } }
}

/** Finds an invitation for the caller; throws if there is none, or if the proof of its link is wrong. */
async function findInvitationFor(sql: Sql, person: number, { id, proof }: InvitationSelector): Promise<Invitation> {
  const key = isInvitation(id) ? roomMembers.ids.toKey(id) : 0
  const [invitation] = await sql(findInvitation, [key, person])
  if (!invitation) throw createNotFoundProblem(roomMembers, id)
  if (invitation.proofHash === null || matchesProof(proof, invitation.proofHash)) return invitation
  // A link that names nobody is not found without its proof.
  if (invitation.userId === null) throw createNotFoundProblem(roomMembers, id)
  throw new Problem('invalid', { issues: [{ path: ['proof'], message: 'is not that of the link' }] })
}

const matchesProof = (proof = '', hash: string) =>
  timingSafeEqual(createHash('sha256').update(proof).digest(), Buffer.from(hash, 'base64url'))

async function admitMember(
  em: EntityManager,
  changes: ChangeRecorder,
  person: number,
  { id, roomId, role, userId, firstKeyEpoch }: Invitation,
): Promise<number> {
  const [former] = await runStatement(em, findFormerMembership, [roomId, person])
  if (former) await runStatement(em, restoreMembership, [role, firstKeyEpoch, former.id])
  else await runStatement(em, turnIntoMembership, [person, firstKeyEpoch, id])
  const member = former?.id ?? id
  if (former) await runStatement(em, deleteInvitation, [id])
  // Other invitations of the new member are withdrawn.
  recordWithdrawnInvitations(changes, roomId, [
    { id, userId },
    ...(await runStatement(em, dropInvitationsOfUser, [roomId, person])),
  ])
  await runStatement(em, beginReading, [person, roomId])
  await runStatement(em, recordMemberEvent, [roomId, member, 'joined'])
  changes.add([`room:${roomId}`], 'created', roomMembers.type, member)
  changes.add([`user:${person}`], 'created', 'rooms', roomId)
  return member
}

/** Stores a key that is wrapped for the person; requests a new key if it is no longer in use. */
async function storeKeyOfInvitation(
  transaction: ChangeTransaction,
  room: LockedRoom,
  person: number,
  { wrappedKey, keyEpoch }: Invitation,
): Promise<void> {
  // A key that is wrapped with the secret of a link is only for the browser with that link.
  if (!wrappedKey.includes('|'))
    await runStatement(transaction.em, storeWrappedKey, [room.id, person, keyEpoch, wrappedKey])
  if (keyEpoch !== room.keyEpoch) await requestRekey(transaction, [room.id])
}
