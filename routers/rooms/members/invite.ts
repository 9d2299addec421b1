import type { EntityManager } from '@mikro-orm/postgresql'
import { AI_USER_ID, User } from '../../../entities/identity/user.ts'
import {
  deleteExpiredInvitations,
  findMembership,
  lockPeople,
  putInvitation,
} from '../../../entities/rooms/room-member.sql.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import { changing } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runNamed } from '../../core/run-named.ts'
import { consumePeopleSearch } from '../../identity/find-people.ts'
import type { CreateInput } from '../../resource/record.ts'
import { translateConstraintError } from '../../verbs/constraint-errors.ts'
import { unknown } from '../../verbs/lock.ts'
import { getRow } from '../../verbs/read.ts'
import { arrayOf } from '../../verbs/run-in.ts'
import { enterRoom, sizeOf } from '../room-access.ts'
import { assertRoomForInvitation, assertRoomForMember } from '../room-quotas.ts'
import { invitationId, type MemberRecord, roomMembers } from './members.ts'
import { concernedBy } from './note-invitations.ts'

export type InvitationInput = CreateInput<typeof roomMembers>

/** Invites somebody, or changes their invitation where they have one. An invitation shows the name of whom it is for. */
export async function invite(ctx: Context, inviter: number, input: InvitationInput): Promise<MemberRecord> {
  if (input.user) await consumePeopleSearch(ctx, inviter)
  const key = await changing(ctx, (em, changes) => putInto(ctx, { em, changes, inviter }, input)).catch(
    translateConstraintError,
  )
  return getRow(ctx, roomMembers, invitationId(key))
}

export interface Inviting {
  em: EntityManager
  changes: ChangeRecorder
  inviter: number
}

/** Within a transaction. */
export async function putInto(
  ctx: Context,
  { em, changes, inviter }: Inviting,
  input: InvitationInput,
): Promise<number> {
  const { user = null, proofHash = null, role, wrappedKey, keyEpoch } = input
  const person = user === null ? null : Number(user)
  // In the order in which everybody locks: first the people, then the room.
  await em.execute(lockPeople, [arrayOf(person === null ? [inviter] : [inviter, person])])
  const room = await enterRoom(ctx, em, Number(input.room), ['admin'])
  if (keyEpoch !== room.keyEpoch)
    throw new Problem('conflict', { detail: `The room uses the key with the number ${room.keyEpoch}.` })
  if (person === null && proofHash === null)
    throw new Problem('invalid', { issues: [{ path: ['proofHash'], message: 'is needed where nobody is named' }] })
  if (person !== null) await assertInvitable(em, room.id, person)
  await em.execute(deleteExpiredInvitations, [room.id])
  const size = await sizeOf(em, room.id)
  assertRoomForInvitation(ctx, size)
  assertRoomForMember(ctx, size)
  const { invitationLifetime } = ctx.services.settings.rooms
  const values = [room.id, person, role, inviter, wrappedKey, keyEpoch, proofHash, invitationLifetime]
  const [{ id, isNew }] = await em.execute<[{ id: number; isNew: boolean }]>(putInvitation, values)

  changes.add(concernedBy(room.id, person), isNew ? 'created' : 'updated', roomMembers.type, invitationId(id))
  return id
}

async function assertInvitable(em: EntityManager, room: number, person: number): Promise<void> {
  const found = person === AI_USER_ID ? null : await em.findOne(User, { id: person }, { fields: ['id'] })
  if (!found) throw new Problem('not_found', { issues: [unknown('users', ['user'])] })
  const [member] = await runNamed(em, findMembership, [room, person])
  if (member) throw new Problem('conflict', { detail: 'This person is a member already.' })
}
