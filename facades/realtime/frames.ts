import { z } from 'zod'
import { type ErrorCode, getErrorKind } from '../../routers/core/problems.ts'
import { SOCKET_PATH } from '../../routers/core/settings.ts'
import type { EphemeralEvent, Position } from '../../routers/ports/change-streams.ts'
import { findExcess } from '../http/json-text.ts'

/** Why a connection is refused that speaks the protocol: said in a frame, then by the close code. */
export interface Refusal {
  code: number
  message: string
}

/** The key in the address of a handshake; undefined where nothing listens. A proxy may have cut off what is before `/app`. */
export function keyIn(url: string, basePath: string): string | undefined {
  const [path = ''] = url.split('?')
  const prefixes = [`${basePath}${SOCKET_PATH}`, SOCKET_PATH, '']
  const prefix = prefixes.find((it) => path.startsWith(`${it}/app/`))
  const key = prefix === undefined ? '' : path.slice(`${prefix}/app/`.length)
  return key === '' || key.includes('/') ? undefined : key
}

/** What is wrong with the version that a client asks for; without one it is 7. */
export function versionRefusal(url: string): Refusal | undefined {
  const version = new URLSearchParams(url.split('?')[1]).get('protocol') ?? '7'
  if (!/^\d{1,3}$/.test(version)) return { code: codes.badVersion, message: 'The protocol version is no number.' }
  if (Number(version) >= 5 && Number(version) <= 7) return undefined
  return { code: codes.unsupportedVersion, message: 'Versions 5 to 7 of the protocol are spoken here.' }
}

/** Data goes as a JSON text inside the frame, as clients of the protocol expect it. */
const frame = (event: string, data: unknown, rest: object = {}) =>
  JSON.stringify({ event, data: JSON.stringify(data), ...rest })

export const established = (socketId: string, activitySeconds: number) =>
  frame('pusher:connection_established', { socket_id: socketId, activity_timeout: activitySeconds })

export const pong = frame('pusher:pong', {})

export const failed = (code: number, message: string) => frame('pusher:error', { code, message })

/** With the position in the change log before the first packet: the library hands it to whoever listens. */
export const subscribed = (channel: string, { epoch, seq }: Position) =>
  frame('pusher_internal:subscription_succeeded', { epoch, seq }, { channel })

/** With everybody who is there, by id. */
export function subscribedWith(channel: string, members: ReadonlyMap<string, object>): string {
  const presence = { count: members.size, ids: [...members.keys()], hash: Object.fromEntries(members) }
  return frame('pusher_internal:subscription_succeeded', { presence }, { channel })
}

export const memberAdded = (channel: string, id: string, info: object) =>
  frame('pusher_internal:member_added', { user_id: id, user_info: info }, { channel })

export const memberRemoved = (channel: string, id: string) =>
  frame('pusher_internal:member_removed', { user_id: id }, { channel })

/** Tells a channel that it may not, or no longer, be listened to. */
export const unsubscribed = (channel: string, status: number, error: string) =>
  frame('pusher:subscription_error', { type: 'AuthError', error, status }, { channel })

/** Changes were lost for good: whoever listens reads the data anew. */
export const moved = (channel: string, { epoch, seq }: Position) => frame('position', { epoch, seq }, { channel })

interface ClientEvent {
  event: string
  channel: string
  data: unknown
}

/** What one subscriber tells the others, and who that is. */
export const relayed = ({ event, channel, data }: ClientEvent, userId: string) =>
  JSON.stringify({ event, channel, data, user_id: userId })

/**
 * Codes of the Pusher protocol. As close codes those from 4000 to 4099 and from 4300 on end a client for good, from 4100 on it
 * comes back after a second, and from 4200 on at once.
 */
export const codes = {
  unknownKey: 4001,
  tooManyConnections: 4004,
  badVersion: 4006,
  unsupportedVersion: 4007,
  unauthorized: 4009,
  overCapacity: 4100,
  badFrame: 4200,
  silent: 4201,
  eventRejected: 4301,
} as const

/** Characters of a channel's name and of an event's. */
const MAX_CHANNEL = 164
const MAX_EVENT = 200

/** Bytes of what a client event carries. */
const MAX_DATA = 10 * 1024

export type ClientFrame =
  | { type: 'ping' | 'pong' }
  | { type: 'subscribe'; channel: string; auth: string; channelData: string }
  | { type: 'unsubscribe'; channel: string }
  | ({ type: 'client event' } & ClientEvent)
  | { type: 'refused'; refusal: Refusal }

const channel = z
  .string()
  .min(1)
  .max(MAX_CHANNEL)
  .regex(/^[A-Za-z0-9_\-=@,.;]+$/)
const envelope = z.object({ event: z.string().min(1), channel: z.unknown().optional(), data: z.unknown().optional() })
const subscribing = z.object({
  channel,
  auth: z.string().max(300).default(''),
  channel_data: z.string().max(2048).default(''),
})
const unsubscribing = z.object({ channel })

const bad = (message: string): ClientFrame => ({ type: 'refused', refusal: { code: codes.badFrame, message } })
const rejected = (message: string): ClientFrame => ({
  type: 'refused',
  refusal: { code: codes.eventRejected, message },
})

/** Reads what a client sends; whatever is wrong with it is said, and changes nothing. */
export function readFrame(text: string): ClientFrame {
  const { data: given } = envelope.safeParse(parsed(text))
  if (!given) return bad('A frame is a JSON object with an event.')
  if (given.event.length > MAX_EVENT) return rejected(`The name of an event has at most ${MAX_EVENT} characters.`)
  if (given.event.startsWith('client-')) return clientEvent(given.event, given.channel, given.data)
  return readers.get(given.event)?.(given.data) ?? bad('There is no such event.')
}

/** By the names of events. An object would have its own members, too, such as `constructor`. */
const readers: ReadonlyMap<string, (data: unknown) => ClientFrame> = new Map([
  ['pusher:ping', (): ClientFrame => ({ type: 'ping' })],
  ['pusher:pong', (): ClientFrame => ({ type: 'pong' })],
  ['pusher:subscribe', subscribe],
  ['pusher:unsubscribe', unsubscribe],
])

function subscribe(data: unknown): ClientFrame {
  const { data: given } = subscribing.safeParse(objectIn(data))
  if (!given) return bad('To subscribe takes a channel and its auth.')
  return { type: 'subscribe', channel: given.channel, auth: given.auth, channelData: given.channel_data }
}

function unsubscribe(data: unknown): ClientFrame {
  const { data: given } = unsubscribing.safeParse(objectIn(data))
  return given ? { type: 'unsubscribe', channel: given.channel } : bad('To unsubscribe takes a channel.')
}

function clientEvent(event: string, name: unknown, data: unknown): ClientFrame {
  const { data: of } = channel.safeParse(name)
  if (!of) return rejected('A client event names its channel.')
  if (Buffer.byteLength(JSON.stringify(data ?? null)) > MAX_DATA)
    return rejected(`A client event carries at most ${MAX_DATA} bytes.`)
  return { type: 'client event', event, channel: of, data }
}

/** Some clients send data as JSON text. */
const objectIn = (data: unknown) => (typeof data === 'string' ? parsed(data) : data)

function parsed(text: string): unknown {
  try {
    return findExcess(Buffer.from(text)) ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A row of the change log, as far as clients see it. */
interface Change {
  epoch: string
  seq: number
  kind: string
  subject: string
  at: string
  number: string | null
  status: { model: string; isGenerating: boolean; error: string | null } | null
}

/** The event that older front ends listen for. */
const OLDER_EVENT = 'App\\Events\\RoomMessageEvent'

const olderTypes: Partial<Record<string, string>> = {
  'room-messages.created': 'message',
  'room-messages.updated': 'messageUpdate',
}

/** The frames that tell a channel of a change: what older front ends understand of it, and the change itself. */
export function buildPackets(channel: string, change: Change): string[] {
  const { epoch, seq, kind, subject, at } = change
  const own = packet('change', channel, { epoch, seq, kind, subject, at })
  const older = olderPacket(channel, change)
  return older ? [older, own] : [own]
}

/** The frame of what is told in passing. */
export const passingPacket = (channel: string, { kind, subject, content }: EphemeralEvent): string =>
  packet('passing', channel, { kind, subject, content })

function olderPacket(channel: string, { seq, kind, number, status }: Change): string | undefined {
  const [, slug] = /^private-Rooms\.(.+)$/.exec(channel) ?? []
  if (!slug) return undefined
  if (status) return packet(OLDER_EVENT, channel, { data: { type: 'status', data: statusData(slug, status) }, seq })
  const type = olderTypes[kind]
  if (!type || number === null) return undefined
  return packet(OLDER_EVENT, channel, { data: { type, data: { slug, message_id: number } }, seq })
}

/** Says that a model is giving an answer, or that its answer has ended. */
const statusData = (slug: string, { model, isGenerating, error }: NonNullable<Change['status']>) => ({
  slug,
  isGenerating,
  model,
  ...(error !== null && { error: getErrorKind(error as ErrorCode).title }),
})

const packet = (event: string, channel: string, data: object) =>
  JSON.stringify({ event, data: JSON.stringify(data), channel })
