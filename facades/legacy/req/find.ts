import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Issue, Problem } from '../../../routers/core/problems.ts'
import { type Api, createCaller } from '../../../routers/index.ts'
import type { ContextResolver } from '../../http/procedures.ts'
import { isMember, type Member, type Message, type Room } from './shapes.ts'

export type RoomParams = { Params: { slug: string } }

/** A request about a room, by its slug. */
export interface RoomRequest {
  api: Api
  room: Room
}

export async function findRoom(
  request: FastifyRequest<RoomParams>,
  reply: FastifyReply,
  resolveContext: ContextResolver,
): Promise<RoomRequest> {
  const api = createCaller(await resolveContext(request, reply))
  return { api, room: await api.rooms.find({ slug: request.params.slug }) }
}

const MAX_MEMBERS = 500

/** Finds the members of a room; in a full room, invited people may be missing. */
export async function findMembers({ api, room }: RoomRequest): Promise<Member[]> {
  const page = { size: MAX_MEMBERS }
  const found = await api.rooms.related({ id: room.id, relation: 'members', include: ['user'], page })
  return (found as unknown as { items: Member[] }).items
}

/** Finds the membership of the caller; undefined for an administrator who is no member. */
export const findOwnMember = async ({ api, room }: RoomRequest): Promise<Member | undefined> =>
  room.role === undefined ? undefined : api.roomMembers.own({ room: room.id })

/** Finds a member by username. */
export async function findMemberByName(roomRequest: RoomRequest, username: string): Promise<Member> {
  const found = (await findMembers(roomRequest)).find((member) => isMember(member) && member.username === username)
  if (found) return found
  const issue: Issue = { path: ['username'], message: 'is the name of no member' }
  throw new Problem('not_found', { issues: [issue] })
}

/** The largest number of pages of one response. */
const MAX_PAGES = 5
const PAGE_SIZE = 200

/** Finds the last messages of a room, a thousand at most, in the order of their numbers. */
export async function findMessages({ api, room }: RoomRequest): Promise<Message[]> {
  const read = async (number: number) => {
    const page = { number, size: PAGE_SIZE }
    const include = ['member.user', 'attachments']
    const found = await api.rooms.related({ id: room.id, relation: 'messages', include, sort: ['-number'], page })
    return found as unknown as { items: Message[]; total: number }
  }
  const first = await read(1)
  const more = Math.min(MAX_PAGES, Math.ceil(first.total / PAGE_SIZE)) - 1
  const others = await Promise.all(Array.from({ length: Math.max(0, more) }, (_, n) => read(n + 2)))
  // New messages may shift the pages, so duplicates are dropped.
  const messages = new Map([first, ...others].flatMap(({ items }) => items.map((item) => [item.id, item])))
  return [...messages.values()].reverse()
}

/** Finds the members and the last messages of a room, and the membership of the caller. */
export async function findRoomContent(roomRequest: RoomRequest) {
  const parts = [findMembers(roomRequest), findMessages(roomRequest), findOwnMember(roomRequest)] as const
  const [members, messages, reader] = await Promise.all(parts)
  return { members, messages, reader }
}

/** Finds a message by its number; a deleted one is not found. */
export async function findMessage({ api, room }: RoomRequest, number: string): Promise<Message> {
  const message = await api.roomMessages.find({ room: room.id, number })
  if (message.deletedAt) throw new Problem('not_found', { detail: 'There is no such message.' })
  return message
}
