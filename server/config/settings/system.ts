import { z } from 'zod'
import { availableLocales } from '../../../routers/ports/locales.ts'
import { count, flag, networks, ports } from './setting-types.ts'

/** Settings of names on the wire, the AI user, languages, link previews and frontend migrations. */
export const systemShape = {
  BRAND: z
    .string()
    .regex(/^[a-z][a-z0-9]{0,19}$/, 'must have 1 to 20 small letters and digits, a letter first')
    .default('svc')
    .describe('Sets the word by which front ends know this service. It is part of addresses, cookies, ids and titles.')
    .meta({ priority: 'may' }),
  JSONAPI_MEMBER_CASE: z
    .enum(['camel', 'snake'])
    .default('camel')
    .describe(
      'Sets the case of member names in the JSON:API: `modelId`, or `model_id` for front ends of earlier versions.',
    )
    .meta({ priority: 'may' }),
  JSONAPI_ASSISTANTS: flag(false)
    .describe(
      'Set to true to serve assistants in the JSON:API, too: the types `assistants`, `assistant-versions`, `assistant-user-prompts` and `assistant-tags`.',
    )
    .meta({ priority: 'may' }),
  SVC_NAME: z
    .string()
    .max(120)
    .default('svc')
    .describe('Sets the display name of the AI user. It is used once, when the database is created.')
    .meta({ priority: 'may' }),
  SVC_USERNAME: z
    .string()
    .max(120)
    .toLowerCase()
    .default('svc')
    .describe('Sets the username of the AI user. It is used once, when the database is created.')
    .meta({ priority: 'may' }),
  AI_MENTION_HANDLE: z
    .string()
    .regex(/^@?[\p{L}\p{N}_-]{1,40}$/u, 'must be one word, such as @svc')
    .transform((handle) => handle.replace(/^@/, ''))
    .optional()
    .describe(
      'Sets the handle that calls the AI user in a room, with or without its `@`. If absent, it is made of SITE_NAME: `@uni-chat` for Uni Chat. The front end of the service understands BRAND, too.',
    )
    .meta({ priority: 'may' }),
  SVC_AVATAR: z
    .string()
    .optional()
    .describe(
      'Names the image file of the AI user. It is used once, when the database is created; `update-avatar` replaces it later. If absent, a built-in image is used.',
    )
    .meta({ priority: 'may' }),
  APP_LOCALE: z
    .enum(availableLocales)
    .default('en_US')
    .describe('Sets the language for callers who ask for no available language.')
    .meta({ priority: 'may' }),
  LABELS_DIR: z
    .string()
    .optional()
    .describe(
      'Names the folder of files such as `de_DE.json`, `chat_de_DE.json` and `custom_de_DE.json`, whose flat or nested texts replace the built-in ones.',
    )
    .meta({ priority: 'may' }),
  AUDIT_ADDRESSES: z
    .enum(['full', 'network', 'none'])
    .default('network')
    .describe(
      "Sets the part of a caller's address that the audit log keeps: all of it, its network (/24, or /48 of IPv6), or none.",
    )
    .meta({ priority: 'may' }),
  RETENTION_AUDIT_MONTHS: count(12, 1, 1200)
    .describe('Sets the number of months after which entries of the audit log are deleted.')
    .meta({ priority: 'may' }),
  LINK_PREVIEWS_PER_MINUTE: count(180, 1)
    .describe('Limits the link previews, with their pictures and icons, that a person can request per minute.')
    .meta({ priority: 'tuning' }),
  LINK_PREVIEW_PORTS: ports
    .describe('Lists the only ports of web sites that link previews read, separated by commas.')
    .meta({ priority: 'tuning' }),
  LINK_PREVIEW_NETWORKS: networks
    .describe(
      'Lists private addresses or networks that link previews read nevertheless, separated by commas. Everybody who is signed in can then read what these sites show without a login.',
    )
    .meta({ priority: 'may' }),
  DEPRECATION_SUNSET: z.iso
    .date('must be a day such as 2027-06-30')
    .transform((day) => new Date(day))
    .optional()
    .describe('Sets the day on which deprecated routes are removed. Their responses announce it.')
    .meta({ priority: 'may' }),
  ANNOUNCEMENTS: z
    .string()
    .optional()
    .describe(
      'Names the folder of the texts of announcements, with one folder for each. If absent, it is `announcements` in DATA_DIR.',
    )
    .meta({ priority: 'may' }),
  FRONTEND_MIGRATIONS: z
    .string()
    .optional()
    .describe('Names the folder of frontend migrations.')
    .meta({ priority: 'may' }),
}
