import { z } from 'zod'
import { availableLocales } from '../../../routers/ports/locales.ts'
import { count, networks, ports } from './kinds.ts'

/** Settings of names on the wire, the AI user, languages, link previews and frontend migrations. */
export const systemShape = {
  BRAND: z
    .string()
    .regex(/^[a-z][a-z0-9]{0,19}$/, 'must have 1 to 20 small letters and digits, a letter first')
    .default('svc')
    .describe('Word by which front ends know this service: in addresses, cookies, ids and titles'),
  JSONAPI_MEMBER_CASE: z
    .enum(['camel', 'snake'])
    .default('camel')
    .describe(
      'How members of the JSON:API are written: `modelId`, or `model_id` as front ends of earlier versions expect them',
    ),
  SVC_NAME: z.string().max(120).default('svc').describe('Display name of the AI user, fixed when the database is made'),
  SVC_USERNAME: z
    .string()
    .max(120)
    .toLowerCase()
    .default('svc')
    .describe('Username of the AI user, fixed when the database is made'),
  AI_MENTION_HANDLE: z
    .string()
    .regex(/^@?[\p{L}\p{N}_-]{1,40}$/u, 'must be one word, such as @svc')
    .transform((handle) => handle.replace(/^@/, ''))
    .optional()
    .describe('What calls the AI user in a room, with or without its `@`; the brand word when absent'),
  SVC_AVATAR: z
    .string()
    .optional()
    .describe(
      'Image file of the AI user, fixed when the database is made; only `update-avatar` replaces it; a built-in one when absent',
    ),
  APP_LOCALE: z
    .enum(availableLocales)
    .default('en_US')
    .describe('Language for callers who ask for none of the available ones'),
  LABELS_DIR: z
    .string()
    .optional()
    .describe(
      'Folder with files such as `de_DE.json`, `chat_de_DE.json` and `custom_de_DE.json`, whose texts, flat or nested, replace the built-in ones',
    ),
  AUDIT_ADDRESSES: z
    .enum(['full', 'network', 'none'])
    .default('network')
    .describe(
      'How much of the address of a caller the audit log keeps: all, its network (/24, or /48 of IPv6), or none',
    ),
  RETENTION_AUDIT_MONTHS: count(12, 1, 1200).describe('After how many months entries of the audit log are removed'),
  LINK_PREVIEWS_PER_MINUTE: count(180, 1).describe(
    'How often a minute a person may ask for what a link leads to, for its picture or its icon',
  ),
  LINK_PREVIEW_PORTS: ports.describe('The only ports of web sites whose links have a preview, comma separated'),
  LINK_PREVIEW_NETWORKS: networks.describe(
    'Private addresses or networks whose sites have a preview nevertheless, comma separated; everybody signed in can read there what needs no login',
  ),
  DEPRECATION_SUNSET: z.iso
    .date('must be a day such as 2027-06-30')
    .transform((day) => new Date(day))
    .optional()
    .describe('Day on which deprecated routes are removed, which their answers announce'),
  ANNOUNCEMENTS: z
    .string()
    .optional()
    .describe(
      'Folder with the texts of announcements, one folder for each; `announcements` in the data folder when absent',
    ),
  FRONTEND_MIGRATIONS: z.string().optional().describe('Folder with the files of frontend migrations'),
}
