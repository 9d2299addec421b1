import type { EntityManager } from '@mikro-orm/postgresql'
import { lockPerson } from '../../entities/identity/user.sql.ts'
import {
  countRooms,
  findMembership,
  lockRoom,
  type Membership,
  measureRoom,
  type RoomSize,
} from '../../entities/rooms/room-member.sql.ts'
import type { MemberRole } from '../../entities/rooms/room-member.ts'
import type { Context } from '../core/context.ts'
import { createQuotaProblem, Problem } from '../core/problems.ts'
import { runForOneRow, runStatement } from '../core/run-statement.ts'
import { isUnrestricted, toViewer } from '../verbs/viewer.ts'

export interface LockedRoom {
  id: number
  slug: string
  keyEpoch: number
  minKeyEpoch: number
  sharesEarlierKeys: boolean
}

/** A locked room with the membership of the caller. */
export interface EnteredRoom extends LockedRoom {
  member: Membership
}

/** Locks a room; every change of a room does so. */
export async function lockRoomById(em: EntityManager, id: number): Promise<LockedRoom> {
  const [room] = await runStatement(em, lockRoom, [id])
  if (!room) throw createUnknownRoomProblem(id)
  return { id, ...room }
}

/**
 * Locks a room for a member with one of the roles. The membership is read once the lock is held, because it may have
 * ended while waiting.
 */
export async function enterRoom(
  ctx: Context,
  em: EntityManager,
  id: number,
  roles: readonly MemberRole[],
): Promise<EnteredRoom> {
  const room = await lockRoomById(em, id)
  const [member] = await runStatement(em, findMembership, [id, toViewer(ctx).viewer])
  if (!member && !isUnrestricted(ctx)) throw createUnknownRoomProblem(id)
  if (!member || !roles.includes(member.role)) throw new Problem('not_permitted')
  return { ...room, member }
}

export async function measureSize(em: EntityManager, room: number): Promise<RoomSize> {
  return runForOneRow(em, measureRoom, [room])
}

export const createUnknownRoomProblem = (id: number) =>
  new Problem('not_found', { detail: `There is no resource of the type rooms with the id ${id}.` })

/**
 * Locks the person, so that two requests cannot exceed the limit together; throws if they are in too many rooms
 * already.
 */
export async function assertMayEnterOneMore({ services }: Context, em: EntityManager, person: number): Promise<void> {
  const { perPerson } = services.settings.rooms
  await runStatement(em, lockPerson, [person])
  const { rooms } = await runForOneRow(em, countRooms, [person])
  if (rooms >= perPerson) throw createQuotaProblem(`A person is in at most ${perPerson} rooms.`)
}

export function assertRoomForMember({ services }: Context, { members }: RoomSize): void {
  const { members: limit } = services.settings.rooms
  if (members >= limit) throw createQuotaProblem(`A room has at most ${limit} members.`)
}

export function assertRoomForInvitation({ services }: Context, { invitations }: RoomSize): void {
  const { invitations: limit } = services.settings.rooms
  if (invitations >= limit) throw createQuotaProblem(`At most ${limit} invitations to a room wait for an answer.`)
}
