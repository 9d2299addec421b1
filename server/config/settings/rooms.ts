import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { mediaTypes } from './file-kinds.ts'
import { count, flag, secret } from './setting-types.ts'

const MB = 1024 * 1024
const MINUTE_MS = 60_000

/** Settings of rooms, of private conversations and of the change log. */
export const roomsShape = {
  ROOM_MESSAGE_MAX_SIZE: count(65_536, 1024, 262_144).describe(
    'Largest message in a room, in characters of its ciphertext',
  ),
  ROOMS_PER_PERSON: count(200, 1, 1000).describe('In how many rooms a person may be'),
  ROOM_MAX_MEMBERS: count(500, 2, 500).describe('Largest number of members of a room, the AI user included'),
  ROOM_MAX_INVITATIONS: count(100, 1, 500).describe('Largest number of invitations to a room that wait for an answer'),
  ROOM_INVITATION_LIFETIME: timerDuration.prefault('14d').describe('How long an invitation to a room can be accepted'),
  ROOM_REKEY: z
    .enum(['advise', 'enforce'])
    .default('enforce')
    .describe(
      '`enforce` refuses messages with a key that a former member of their room has, at once, and with any other earlier key a minute after the room got another one; choose `advise`, which refuses none, for a house with another front end, which makes no new keys',
    ),
  CONVERSATIONS_PER_PERSON: count(1000, 1, 100_000).describe('How many private conversations a person may have'),
  CONVERSATION_MAX_MESSAGES: count(10_000, 1, 1_000_000).describe('Largest number of messages of a conversation'),
  CONVERSATION_MESSAGE_MAX_SIZE: count(262_144, 1024, 262_144).describe(
    'Largest message of a conversation, in characters of its ciphertext',
  ),
  CONVERSATION_QUOTA: count(256 * MB, 1).describe(
    'How many bytes all conversations of a person may take, without their files',
  ),
  MAX_FILE_SIZE: count(10 * MB, 1, 1024 * MB).describe('Largest file of a message, in bytes'),
  ALLOWED_FILE_MIME_TYPES: mediaTypes.describe(
    'The only kinds of files that messages may have, comma separated media types; all that are known when absent. A kind of plain text, such as `application/json`, allows all of them',
  ),
  MAX_ATTACHMENT_FILES: count(10, 1, 100).describe('Largest number of files of a message'),
  ATTACHMENT_QUOTA: count(1024 * MB, 1).describe(
    'How many bytes of files a person may keep; each file counts as 4,096 at least',
  ),
  ATTACHMENT_QUOTA_FILES: count(10_000, 1, 1_000_000).describe('How many files a person may keep'),
  ROOM_DISCLOSURES: count(1000, 10, 100_000).describe(
    'How many records of what was disclosed to models a room keeps; the oldest of more are deleted',
  ),
  RETENTION_DISCLOSURES_MONTHS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1200)
    .optional()
    .describe('After how many months such records are deleted; with their room when absent'),
  RETENTION_FILES_MONTHS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1200)
    .optional()
    .describe('After how many months files are deleted, from living messages, too; never when absent'),
  UPLOADS_PER_PERSON: count(5, 1, 1000).describe('How many files a person may upload at the same time'),
  UPLOADS_AT_ONCE: count(50, 1, 10_000).describe('How many files one process takes at the same time'),
  UPLOAD_TIMEOUT: timerDuration
    // Files without a row are deleted after an hour, so no upload may take longer.
    .refine((length) => length <= 30 * MINUTE_MS, 'must be at most 30m')
    .prefault('2m')
    .describe('How long an upload may take, 30 minutes at most'),
  CHANGE_LOG_DAYS: count(7, 1, 365).describe('How many days long a change can be caught up with'),
  SYNC_LOG: flag(false).describe(
    'Whether the answer of a mutation lists the positions that it wrote to the change log',
  ),
}

/** Settings of live changes: connections by the Pusher protocol, and server-sent events. */
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
