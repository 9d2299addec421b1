import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { count, secret } from './kinds.ts'

/** Settings of what tells of changes as they happen: connections by the Pusher protocol, and server-sent events. */
export const realtimeShape = {
  REVERB_APP_KEY: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must have 1 to 64 letters, digits, _ and -')
    .optional()
    .describe('Key in the address of real-time connections, which is public; BRAND when absent'),
  REVERB_APP_SECRET: secret
    .optional()
    .describe('Secret that signs who may subscribe to what in real time; made from APP_KEY when absent')
    .meta({ secret: true }),
  REVERB_APP_PING_INTERVAL: timerDuration
    .prefault('25s')
    .describe(
      'How long a real-time connection is silent before it is pinged; without an answer it is closed after as long again',
    ),
  REVERB_APP_MAX_CONNECTIONS: count(10_000, 1).describe('Largest number of real-time connections of a process'),
  REALTIME_CONNECTIONS_PER_PERSON: count(50, 1).describe(
    'Largest number of real-time connections of a person at a time, at all replicas together',
  ),
  REALTIME_CHANNELS_PER_CONNECTION: count(500, 1, 5000).describe(
    'To how many channels a real-time connection may subscribe',
  ),
  REALTIME_HANDSHAKES_PER_SECOND: count(500, 1).describe(
    'How many real-time connections a process takes a second; others wait for their turn',
  ),
  SUBSCRIPTIONS_PER_PERSON: count(100, 1).describe(
    'How many streams of changes a person may follow at a time, by server-sent events, at all replicas together',
  ),
  SUBSCRIPTIONS_MAX: count(10_000, 1).describe(
    'How many streams of changes are followed at a time, by server-sent events, in a process',
  ),
  SUBSCRIPTIONS_HEARTBEAT: timerDuration
    .prefault('20s')
    .describe('Interval of the pings in a stream of changes, so that no proxy takes it for idle'),
}
