import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { isSameSecret } from '../ports/constant-time.ts'
import type { RoomDirectory } from '../ports/room-directory.ts'
import { resourceId } from '../resource/ids.ts'

/** The subject of a channel. A `presence-` channel is private, too, and shows who is in it. */
export type Channel =
  | { kind: 'room'; slug: string; isPresence: boolean }
  | { kind: 'person'; id: number }
  | { kind: 'everybody' }

/** Parses the name of a channel; returns undefined for an unknown name. */
export function readChannel(name: string): Channel | undefined {
  if (name === 'private-AllUsers') return { kind: 'everybody' }
  const [, person] = /^private-User\.(\d+)$/.exec(name) ?? []
  if (person) return resourceId.safeParse(person).success ? { kind: 'person', id: Number(person) } : undefined
  const [, prefix, slug] = /^(private|presence)-Rooms\.([A-Za-z0-9-]{1,140})$/.exec(name) ?? []
  return slug ? { kind: 'room', slug, isPresence: prefix === 'presence' } : undefined
}

/** Permission to subscribe to a channel. */
export interface ChannelAccess {
  /** The stream of the change log that it shows. */
  stream: string
  /** Id of the membership in a room: the subscription ends with it. */
  member?: number
}

/** Maximum age in milliseconds of the room list behind a refusal: somebody may just have joined. */
const RECENT_MS = 500

/**
 * Finds the access of a person to a channel; returns undefined without access. `since` is the minimum freshness of the
 * room list.
 */
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

/** Reads the rooms again if something changed in the meantime. */
async function readCurrentRooms(directory: RoomDirectory, person: number, since: number) {
  let rooms = await directory.findRooms(person, since)
  while (!directory.isCurrent(person, rooms)) rooms = await directory.findRooms(person, since)
  return rooms
}

/** The public profile in a presence channel. */
const userInfo = z.strictObject({ name: z.string(), username: z.string() })

const grantSchema = z.strictObject({
  user_id: resourceId,
  user_info: userInfo,
  /** The session or token of the caller: the subscription ends with it. */
  session: z.string().max(64).optional(),
  token: z.int().optional(),
  /** True for a token without the ability `write`: its bearer receives events and cannot send any. */
  listens_only: z.literal(true).optional(),
})

/** The caller for whom a subscription was signed. */
export type Grant = z.output<typeof grantSchema>

export interface SignedGrant {
  /** `{key}:{hex}`. */
  auth: string
  /** The grant as JSON, which the client forwards unchanged. */
  channel_data: string
}

interface SigningContext {
  key: string
  secret: string
  /** The signature covers connection and channel. */
  socketId: string
  channel: string
}

export function signGrant(context: SigningContext, grant: Grant): SignedGrant {
  const channelData = JSON.stringify(grant)
  return { auth: `${context.key}:${sign(context, channelData)}`, channel_data: channelData }
}

/** Returns the grant if it was signed for this connection and channel. Compares in constant time. */
export function readGrant(
  context: SigningContext,
  { auth, channel_data: channelData }: SignedGrant,
): Grant | undefined {
  if (!isSameSecret(auth, `${context.key}:${sign(context, channelData)}`)) return undefined
  return grantSchema.safeParse(JSON.parse(channelData)).data
}

const sign = ({ secret, socketId, channel }: SigningContext, channelData: string) =>
  createHmac('sha256', secret).update(`${socketId}:${channel}:${channelData}`).digest('hex')
