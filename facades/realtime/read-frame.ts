import { z } from 'zod'
import { excessOf } from '../http/json-text.ts'
import type { Refusal } from './address.ts'
import { codes } from './close-codes.ts'
import type { ClientEvent } from './frames.ts'

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
    return excessOf(Buffer.from(text)) ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
