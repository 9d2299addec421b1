import type { Position } from '../../routers/ports/change-streams.ts'

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

export interface ClientEvent {
  event: string
  channel: string
  data: unknown
}

/** What one subscriber tells the others, and who that is. */
export const relayed = ({ event, channel, data }: ClientEvent, userId: string) =>
  JSON.stringify({ event, channel, data, user_id: userId })
