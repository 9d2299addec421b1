import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { RoomDirectory } from '../ports/room-directory.ts'
import { resourceId } from '../resource/ids.ts'

/** What a channel is of. A `presence-` channel is private, too, and tells who is in it. */
export type Channel =
  | { kind: 'room'; slug: string; isPresence: boolean }
  | { kind: 'person'; id: number }
  | { kind: 'everybody' }

/** Reads the name of a channel; undefined where there is none of this name. */
export function readChannel(name: string): Channel | undefined {
  if (name === 'private-AllUsers') return { kind: 'everybody' }
  const [, person] = /^private-User\.(\d+)$/.exec(name) ?? []
  if (person) return resourceId.safeParse(person).success ? { kind: 'person', id: Number(person) } : undefined
  const [, prefix, slug] = /^(private|presence)-Rooms\.([A-Za-z0-9-]{1,140})$/.exec(name) ?? []
  return slug ? { kind: 'room', slug, isPresence: prefix === 'presence' } : undefined
}

/** That somebody may subscribe to a channel. */
export interface ChannelAccess {
  /** The stream of the change log that it shows. */
  stream: string
  /** In a room, the id of their membership: the subscription ends with it. */
  member?: number
}

/** A refusal rests on rooms that were read at most this long ago: somebody may just have been let in. */
const RECENT_MS = 500

/** Asks whether a person may subscribe; undefined where they may not. `since` says how fresh the answer must be. */
export async function findChannelAccess(
  directory: RoomDirectory,
  person: number,
  channel: Channel,
  since = 0,
): Promise<ChannelAccess | undefined> {
  if (channel.kind === 'everybody') return { stream: 'all' }
  if (channel.kind === 'person') return channel.id === person ? { stream: `user:${person}` } : undefined
  const find = async (from: number) => (await readCurrentRooms(directory, person, from)).get(channel.slug)
  const membership = (await find(since)) ?? (await find(performance.now() - RECENT_MS))
  return membership && { stream: `room:${membership.room}`, member: membership.member }
}

/** Reads again where something has changed while the answer came. */
async function readCurrentRooms(directory: RoomDirectory, person: number, since: number) {
  let rooms = await directory.findRooms(person, since)
  while (!directory.isCurrent(person, rooms)) rooms = await directory.findRooms(person, since)
  return rooms
}

/** What others in a presence channel see of somebody. */
const userInfo = z.strictObject({ name: z.string(), username: z.string() })

const grantSchema = z.strictObject({
  user_id: resourceId,
  user_info: userInfo,
  /** By what the person called: the subscription ends with it. */
  session: z.string().max(64).optional(),
  token: z.int().optional(),
  /** Whether it is a token that may not write: its bearer listens, and tells others nothing. */
  listens_only: z.literal(true).optional(),
})

/** For whom a subscription was signed. */
export type Grant = z.output<typeof grantSchema>

export interface SignedGrant {
  /** `{key}:{hex}`. */
  auth: string
  /** The grant as JSON, which the client hands on as it is. */
  channel_data: string
}

interface SigningContext {
  key: string
  secret: string
  /** What is signed: the connection and the channel. */
  socketId: string
  channel: string
}

export function signGrant(context: SigningContext, grant: Grant): SignedGrant {
  const channelData = JSON.stringify(grant)
  return { auth: `${context.key}:${sign(context, channelData)}`, channel_data: channelData }
}

/** The grant, where it was signed for this connection and channel. Takes as long for a wrong signature as for the right one. */
export function readGrant(
  context: SigningContext,
  { auth, channel_data: channelData }: SignedGrant,
): Grant | undefined {
  const [received, expected] = [auth, `${context.key}:${sign(context, channelData)}`].map((it) => Buffer.from(it))
  if (!received || !expected || received.length !== expected.length || !timingSafeEqual(received, expected))
    return undefined
  return grantSchema.safeParse(JSON.parse(channelData)).data
}

const sign = ({ secret, socketId, channel }: SigningContext, channelData: string) =>
  createHmac('sha256', secret).update(`${socketId}:${channel}:${channelData}`).digest('hex')
