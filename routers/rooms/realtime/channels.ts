import type { RoomDirectory } from '../../ports/room-directory.ts'
import { resourceId } from '../../resource/ids.ts'

/** What a channel is of. A `presence-` channel is private, too, and tells who is in it. */
export type Channel =
  | { of: 'room'; slug: string; isPresence: boolean }
  | { of: 'person'; id: number }
  | { of: 'everybody' }

/** Reads the name of a channel; undefined where there is none of this name. */
export function readChannel(name: string): Channel | undefined {
  if (name === 'private-AllUsers') return { of: 'everybody' }
  const [, person] = /^private-User\.(\d+)$/.exec(name) ?? []
  if (person) return resourceId.safeParse(person).success ? { of: 'person', id: Number(person) } : undefined
  const [, kind, slug] = /^(private|presence)-Rooms\.([A-Za-z0-9-]{1,140})$/.exec(name) ?? []
  return slug ? { of: 'room', slug, isPresence: kind === 'presence' } : undefined
}

/** That somebody may subscribe to a channel. */
export interface Admission {
  /** The stream of the change log that it shows. */
  stream: string
  /** In a room, the id of their membership: the subscription ends with it. */
  member?: number
}

/** A refusal rests on rooms that were read at most this long ago: somebody may just have been let in. */
const RECENT_MS = 500

/** Asks whether a person may subscribe; undefined where they may not. `since` says how fresh the answer must be. */
export async function admit(
  directory: RoomDirectory,
  person: number,
  channel: Channel,
  since = 0,
): Promise<Admission | undefined> {
  if (channel.of === 'everybody') return { stream: 'all' }
  if (channel.of === 'person') return channel.id === person ? { stream: `user:${person}` } : undefined
  const find = async (from: number) => (await currentRooms(directory, person, from)).get(channel.slug)
  const own = (await find(since)) ?? (await find(performance.now() - RECENT_MS))
  return own && { stream: `room:${own.room}`, member: own.member }
}

/** Reads again where something has changed while the answer came. */
async function currentRooms(directory: RoomDirectory, person: number, since: number) {
  let rooms = await directory.findRooms(person, since)
  while (!directory.isCurrent(person, rooms)) rooms = await directory.findRooms(person, since)
  return rooms
}
