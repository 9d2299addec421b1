import { readChanges, type Service } from './service.ts'
import type { RetryDelay } from './transport.ts'
import { overEvents } from './transports.ts'

export { type FollowOptions, follow, type LiveStream } from './follow.ts'
export type { Position } from './position.ts'
export { type Changes, type ChangesSince, readChanges, type Service } from './service.ts'
export { type Change, type Listener, type RetryDelay, StreamEnded, type Transport } from './transport.ts'
export { overEvents, overPusher, type PusherChannel, type PusherClient } from './transports.ts'

/** What happens in a room, for `follow`; its transport can be replaced by another one. */
export const roomStream = (service: Service, id: string, options: { retryDelay?: RetryDelay } = {}) => ({
  transport: overEvents(service, 'rooms.changes', { input: { id }, ...options }),
  changesSince: readChanges(service, 'rooms.changesSince', { id }),
})

/** What happens in the caller's own list of rooms, invitations and private conversations, for `follow`. */
export const ownStream = (service: Service, options: { retryDelay?: RetryDelay } = {}) => ({
  transport: overEvents(service, 'users.changes', options),
  changesSince: readChanges(service, 'users.changesSince'),
})
