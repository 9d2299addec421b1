import { z } from 'zod'
import { type ErrorCode, getErrorKind } from '../../routers/core/problems.ts'
import { SOCKET_PATH } from '../../routers/core/settings.ts'
import type { EphemeralEvent, Position } from '../../routers/ports/change-streams.ts'
import { findExcess } from '../http/json-text.ts'

/** The refusal of a connection, sent as a frame and as close code. */
export interface ConnectionError {
  code: number
  message: string
}

/**
 * Reads the key of a handshake; undefined if nothing listens there. A proxy may have cut off the path before `/app`.
 */
export function readKey(url: string, basePath: string): string | undefined {
  const [path = ''] = url.split('?')
  const prefixes = [`${basePath}${SOCKET_PATH}`, SOCKET_PATH, '']
  const prefix = prefixes.find((it) => path.startsWith(`${it}/app/`))
  const key = prefix === undefined ? '' : path.slice(`${prefix}/app/`.length)
  return key === '' || key.includes('/') ? undefined : key
}

/** Checks the protocol version of a client, which is 7 by default. */
export function checkVersion(url: string): ConnectionError | undefined {
  const version = new URLSearchParams(url.split('?')[1]).get('protocol') ?? '7'
  if (!/^\d{1,3}$/.test(version)) return { code: codes.badVersion, message: 'The protocol version is not a number.' }
  if (Number(version) >= 5 && Number(version) <= 7) return undefined
  return { code: codes.unsupportedVersion, message: 'The service supports versions 5 to 7 of the protocol.' }
}

/** Writes a frame; its data is nested JSON, as the protocol requires. */
const writeFrame = (event: string, data: unknown, rest: object = {}) =>
  JSON.stringify({ event, data: JSON.stringify(data), ...rest })

export const writeEstablished = (socketId: string, activitySeconds: number) =>
  writeFrame('pusher:connection_established', { socket_id: socketId, activity_timeout: activitySeconds })

export const PONG = writeFrame('pusher:pong', {})

export const writeError = (code: number, message: string) => writeFrame('pusher:error', { code, message })

/** Writes the success of a subscription with the position before the first packet. */
export const writeSubscribed = (channel: string, { epoch, seq }: Position) =>
  writeFrame('pusher_internal:subscription_succeeded', { epoch, seq }, { channel })

/** Writes the success of a presence subscription with all present members by id. */
export function writePresence(channel: string, members: ReadonlyMap<string, object>): string {
  const presence = { count: members.size, ids: [...members.keys()], hash: Object.fromEntries(members) }
  return writeFrame('pusher_internal:subscription_succeeded', { presence }, { channel })
}

export const writeMemberAdded = (channel: string, id: string, info: object) =>
  writeFrame('pusher_internal:member_added', { user_id: id, user_info: info }, { channel })

export const writeMemberRemoved = (channel: string, id: string) =>
  writeFrame('pusher_internal:member_removed', { user_id: id }, { channel })

/** Writes the refusal or end of a subscription. */
export const writeSubscriptionError = (channel: string, status: number, error: string) =>
  writeFrame('pusher:subscription_error', { type: 'AuthError', error, status }, { channel })

/** Writes a new position after lost changes: clients read the data anew. */
export const writePosition = (channel: string, { epoch, seq }: Position) =>
  writeFrame('position', { epoch, seq }, { channel })

interface ClientEvent {
  event: string
  channel: string
  data: unknown
}

/** Writes a client event of a subscriber for the others. */
export const writeClientEvent = ({ event, channel, data }: ClientEvent, userId: string) =>
  JSON.stringify({ event, channel, data, user_id: userId })

/**
 * Codes of the Pusher protocol. After 4000 to 4099 and from 4300 on, clients do not reconnect; from 4100 on they do
 * after a second, from 4200 on at once.
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

/** The longest names of channels and events, in characters. */
const MAX_CHANNEL = 164
const MAX_EVENT = 200

/** The largest data of a client event, in bytes. */
const MAX_DATA = 10 * 1024

export type ClientFrame =
  | { type: 'ping' | 'pong' }
  | { type: 'subscribe'; channel: string; auth: string; channelData: string }
  | { type: 'unsubscribe'; channel: string }
  | ({ type: 'client event' } & ClientEvent)
  | { type: 'refused'; refusal: ConnectionError }

const channel = z
  .string()
  .min(1)
  .max(MAX_CHANNEL)
  .regex(/^[A-Za-z0-9_\-=@,.;]+$/)
const envelope = z.object({ event: z.string().min(1), channel: z.unknown().optional(), data: z.unknown().optional() })
const subscribeData = z.object({
  channel,
  auth: z.string().max(300).default(''),
  channel_data: z.string().max(2048).default(''),
})
const unsubscribeData = z.object({ channel })

const refuseFrame = (message: string): ClientFrame => ({ type: 'refused', refusal: { code: codes.badFrame, message } })
const rejectEvent = (message: string): ClientFrame => ({
  type: 'refused',
  refusal: { code: codes.eventRejected, message },
})

/** Parses a frame of a client; an invalid frame is answered and changes nothing. */
export function readFrame(text: string): ClientFrame {
  const { data: message } = envelope.safeParse(parseText(text))
  if (!message) return refuseFrame('A frame is a JSON object with an event.')
  if (message.event.length > MAX_EVENT) return rejectEvent(`The name of an event has at most ${MAX_EVENT} characters.`)
  if (message.event.startsWith('client-')) return readClientEvent(message.event, message.channel, message.data)
  return readers.get(message.event)?.(message.data) ?? refuseFrame('There is no such event.')
}

/** Readers by event name; a map, because an object would inherit names such as `constructor`. */
const readers: ReadonlyMap<string, (data: unknown) => ClientFrame> = new Map([
  ['pusher:ping', (): ClientFrame => ({ type: 'ping' })],
  ['pusher:pong', (): ClientFrame => ({ type: 'pong' })],
  ['pusher:subscribe', readSubscribe],
  ['pusher:unsubscribe', readUnsubscribe],
])

function readSubscribe(data: unknown): ClientFrame {
  const { data: message } = subscribeData.safeParse(toObject(data))
  if (!message) return refuseFrame('To subscribe takes a channel and its auth.')
  return { type: 'subscribe', channel: message.channel, auth: message.auth, channelData: message.channel_data }
}

function readUnsubscribe(data: unknown): ClientFrame {
  const { data: message } = unsubscribeData.safeParse(toObject(data))
  return message ? { type: 'unsubscribe', channel: message.channel } : refuseFrame('To unsubscribe takes a channel.')
}

function readClientEvent(event: string, name: unknown, data: unknown): ClientFrame {
  const { data: channelName } = channel.safeParse(name)
  if (!channelName) return rejectEvent('A client event names its channel.')
  if (Buffer.byteLength(JSON.stringify(data ?? null)) > MAX_DATA)
    return rejectEvent(`A client event carries at most ${MAX_DATA} bytes.`)
  return { type: 'client event', event, channel: channelName, data }
}

/** Parses data that some clients send as JSON text. */
const toObject = (data: unknown) => (typeof data === 'string' ? parseText(data) : data)

function parseText(text: string): unknown {
  try {
    return findExcess(Buffer.from(text)) ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The public part of a change log row. */
interface Change {
  epoch: string
  seq: number
  kind: string
  subject: string
  at: string
  number: string | null
  status: { model: string; isGenerating: boolean; error: string | null } | null
  /** The changed row, if the change carries it. */
  record?: object | undefined
}

/** The event of legacy front ends. */
const LEGACY_EVENT = 'App\\Events\\RoomMessageEvent'

const legacyTypes: Partial<Record<string, string>> = {
  'room-messages.created': 'message',
  'room-messages.updated': 'messageUpdate',
}

/** Builds the frames of a change: the legacy event, if there is one, and the change. */
export function buildPackets(channel: string, change: Change): string[] {
  const { epoch, seq, kind, subject, at, record } = change
  const own = writePacket('change', channel, { epoch, seq, kind, subject, at, ...(record && { record }) })
  const legacy = buildLegacyPacket(channel, change)
  return legacy ? [legacy, own] : [own]
}

/** Writes an ephemeral event. */
export const writeEphemeralEvent = (channel: string, { kind, subject, content }: EphemeralEvent): string =>
  writePacket('passing', channel, { kind, subject, content })

function buildLegacyPacket(channel: string, { seq, kind, number, status }: Change): string | undefined {
  const [, slug] = /^private-Rooms\.(.+)$/.exec(channel) ?? []
  if (!slug) return undefined
  if (status)
    return writePacket(LEGACY_EVENT, channel, { data: { type: 'status', data: toStatusData(slug, status) }, seq })
  const type = legacyTypes[kind]
  if (!type || number === null) return undefined
  return writePacket(LEGACY_EVENT, channel, { data: { type, data: { slug, message_id: number } }, seq })
}

/** Converts the status of a model's answer. */
const toStatusData = (slug: string, { model, isGenerating, error }: NonNullable<Change['status']>) => ({
  slug,
  isGenerating,
  model,
  ...(error !== null && { error: getErrorKind(error as ErrorCode).title }),
})

const writePacket = (event: string, channel: string, data: object) =>
  JSON.stringify({ event, data: JSON.stringify(data), channel })
