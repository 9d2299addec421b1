import { z } from 'zod'
import { linkReaders } from '../../../routers/core/settings.ts'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { mediaTypes } from './file-kinds.ts'
import { count, flag, list, optionalMonths, secret } from './setting-types.ts'

const MB = 1024 * 1024
const MINUTE_MS = 60_000

/** Settings of rooms, of private conversations and of the change log. */
export const roomsShape = {
  ROOM_MESSAGE_MAX_SIZE: count(65_536, 1024, 262_144)
    .describe('Limits a message in a room, in characters of its ciphertext.')
    .meta({ priority: 'tuning' }),
  ROOMS_PER_PERSON: count(200, 1, 1000)
    .describe('Limits the rooms that a person can be in.')
    .meta({ priority: 'tuning' }),
  ROOM_MAX_MEMBERS: count(500, 2, 500)
    .describe('Limits the members of a room, including the AI user.')
    .meta({ priority: 'tuning' }),
  ROOM_MAX_INVITATIONS: count(100, 1, 500)
    .describe('Limits the open invitations of a room.')
    .meta({ priority: 'tuning' }),
  ROOM_INVITATION_LIFETIME: timerDuration
    .prefault('14d')
    .describe('Sets the time for which an invitation to a room can be accepted.')
    .meta({ priority: 'tuning' }),
  ROOM_REKEY: z
    .enum(['advise', 'enforce'])
    .default('enforce')
    .describe(
      'Sets how strictly rooms insist on their newest key. `enforce` refuses messages with a key that a former member has, at once, and messages with any other earlier key one minute after the room got a new one. `advise` refuses none; choose it for a front end that makes no new keys.',
    )
    .meta({ priority: 'may' }),
  CONVERSATIONS_PER_PERSON: count(1000, 1, 100_000)
    .describe('Limits the private conversations of one person.')
    .meta({ priority: 'tuning' }),
  CONVERSATION_MAX_MESSAGES: count(10_000, 1, 1_000_000)
    .describe('Limits the messages of one conversation.')
    .meta({ priority: 'tuning' }),
  CONVERSATION_MESSAGE_MAX_SIZE: count(262_144, 1024, 262_144)
    .describe('Limits a message of a conversation, in characters of its ciphertext.')
    .meta({ priority: 'tuning' }),
  CONVERSATION_QUOTA: count(256 * MB, 1)
    .describe('Limits all conversations of one person together, without their files, in bytes.')
    .meta({ priority: 'tuning' }),
  SHARED_LINKS: z
    .enum(linkReaders)
    .default('people')
    .describe(
      'Sets who may read copies of conversations that people share by links: nobody, people who are signed in, or everybody who has the link. Whoever shares chooses among these for each link.',
    )
    .meta({ priority: 'may' }),
  SHARED_LINKS_GROUPS: list
    .describe('Lists the groups whose members may share conversations by links. If absent, everybody may.')
    .meta({ priority: 'may' }),
  OPEN_LINKS_GROUPS: list
    .describe(
      'Lists the groups whose members may share with people who are not signed in, where `SHARED_LINKS` is `everybody`. If absent, all who may share may.',
    )
    .meta({ priority: 'may' }),
  SHARED_LINKS_MAX_DAYS: count(90, 1, 3650)
    .describe('Limits the days until a link ends. Its owner can renew it.')
    .meta({ priority: 'may' }),
  SHARED_LINK_MAX_SIZE: count(16 * MB, 1024, 256 * MB)
    .describe('Limits the sealed copy that a link leads to, in bytes.')
    .meta({ priority: 'tuning' }),
  SHARED_LINKS_QUOTA: count(256 * MB, 1)
    .describe('Limits the sealed copies of all links of one person together, in bytes.')
    .meta({ priority: 'tuning' }),
  SHARED_LINKS_PER_PERSON: count(200, 1, 100_000)
    .describe('Limits the links of one person.')
    .meta({ priority: 'tuning' }),
  MAX_FILE_SIZE: count(10 * MB, 1, 1024 * MB)
    .describe('Limits one file of a message, in bytes.')
    .meta({ priority: 'may' }),
  ALLOWED_FILE_MIME_TYPES: mediaTypes
    .describe(
      'Lists the only media types of files that messages can have, separated by commas. One type of plain text, such as `application/json`, allows all of them. If absent, all known types are allowed.',
    )
    .meta({ priority: 'may' }),
  MAX_ATTACHMENT_FILES: count(10, 1, 100).describe('Limits the files of one message.').meta({ priority: 'tuning' }),
  ATTACHMENT_QUOTA: count(1024 * MB, 1)
    .describe('Limits all files of one person together, in bytes. Each file counts at least 4,096 bytes.')
    .meta({ priority: 'may' }),
  ATTACHMENT_QUOTA_FILES: count(10_000, 1, 1_000_000)
    .describe('Limits the number of files of one person.')
    .meta({ priority: 'tuning' }),
  ROOM_DISCLOSURES: count(1000, 10, 100_000)
    .describe('Limits the records of disclosures to models that a room keeps. The oldest are deleted first.')
    .meta({ priority: 'tuning' }),
  RETENTION_DISCLOSURES_MONTHS: optionalMonths
    .describe(
      'Sets the number of months after which records of disclosures to models are deleted. If absent, they are deleted with their room.',
    )
    .meta({ priority: 'may' }),
  RETENTION_FILES_MONTHS: optionalMonths
    .describe(
      'Sets the number of months after which files are deleted, including files of existing messages. If absent, files are never deleted by age.',
    )
    .meta({ priority: 'may' }),
  UPLOADS_PER_PERSON: count(5, 1, 1000)
    .describe('Limits the files that one person can upload at the same time.')
    .meta({ priority: 'tuning' }),
  UPLOADS_AT_ONCE: count(50, 1, 10_000)
    .describe('Limits the files that one process receives at the same time.')
    .meta({ priority: 'tuning' }),
  UPLOAD_TIMEOUT: timerDuration
    // Files without a row are deleted after an hour, so no upload may take longer.
    .refine((length) => length <= 30 * MINUTE_MS, 'must be at most 30m')
    .prefault('2m')
    .describe('Limits the time of one upload. The largest value is 30m.')
    .meta({ priority: 'tuning' }),
  CHANGE_LOG_DAYS: count(7, 1, 365)
    .describe('Sets the number of days for which clients can catch up with changes.')
    .meta({ priority: 'tuning' }),
  SYNC_LOG: flag(false)
    .describe('Lists in the response of a mutation the positions that it wrote to the change log.')
    .meta({ priority: 'may' }),
}

/** Settings of live changes: connections by the Pusher protocol, and server-sent events. */
export const realtimeShape = {
  REVERB_APP_KEY: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must have 1 to 64 letters, digits, _ and -')
    .optional()
    .describe('Sets the key in the address of real-time connections, which is public. If absent, it is BRAND.')
    .meta({ priority: 'may' }),
  REVERB_APP_SECRET: secret
    .optional()
    .describe('Sets the secret that signs real-time subscriptions. If absent, it is derived from APP_KEY.')
    .meta({ priority: 'may', secret: true }),
  REVERB_APP_PING_INTERVAL: timerDuration
    .prefault('25s')
    .describe(
      'Sets the time after which a silent real-time connection receives a ping. Without a reply in the same time, it is closed.',
    )
    .meta({ priority: 'tuning' }),
  REVERB_APP_MAX_CONNECTIONS: count(10_000, 1)
    .describe('Limits the real-time connections of one process.')
    .meta({ priority: 'tuning' }),
  REALTIME_CONNECTIONS_PER_PERSON: count(50, 1)
    .describe('Limits the real-time connections of one person at all replicas together.')
    .meta({ priority: 'tuning' }),
  REALTIME_CHANNELS_PER_CONNECTION: count(500, 1, 5000)
    .describe('Limits the channels that one real-time connection can subscribe to.')
    .meta({ priority: 'tuning' }),
  REALTIME_HANDSHAKES_PER_SECOND: count(500, 1)
    .describe('Limits the real-time connections that one process accepts per second. Further ones wait.')
    .meta({ priority: 'tuning' }),
  SUBSCRIPTIONS_PER_PERSON: count(100, 1)
    .describe('Limits the server-sent event streams of changes of one person at all replicas together.')
    .meta({ priority: 'tuning' }),
  SUBSCRIPTIONS_MAX: count(10_000, 1)
    .describe('Limits the server-sent event streams of changes of one process.')
    .meta({ priority: 'tuning' }),
  SUBSCRIPTIONS_HEARTBEAT: timerDuration
    .prefault('20s')
    .describe('Sets the interval of pings in a stream of changes, so that no proxy closes it as idle.')
    .meta({ priority: 'tuning' }),
}
