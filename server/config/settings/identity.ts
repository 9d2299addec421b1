import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { count, flag } from './setting-types.ts'

/** Defines a salt for keys that browsers derive. If it changes, everything encrypted with those keys is unreadable. */
const salt = (what: string) =>
  z
    .string()
    .min(16, 'must have at least 16 characters; `openssl rand -hex 16` makes a good one')
    .optional()
    .describe(`Salt ${what}, never to be changed; made from APP_KEY in development`)
    .meta({ secret: true })

/** Settings of people: tokens, sessions, keys and profiles. */
export const identityShape = {
  ALLOW_EXTERNAL_COMMUNICATION: z
    .stringbool({ error: 'must be true or false' })
    .optional()
    .describe('Whether access tokens work at all; when absent: off in production, on in development'),
  ALLOW_USER_TOKEN_CREATION: flag(false).describe('Whether people make their own access tokens'),
  ALLOW_EXTERNAL_APPS: flag(false).describe(
    'Whether external apps work: their own credentials, and the tokens that they hold for people',
  ),
  EXT_APPS: z
    .string()
    .optional()
    .describe('YAML or JSON file of external apps; those of administrators stay beside them'),
  ALLOW_EXTERNAL_APPS_GROUPS_AI: flag(false).describe(
    'Whether programs with access tokens may have a model answer in the rooms of their people',
  ),
  ALLOW_EXTERNAL_APPS_CONNECT_REQUEST_TIMEOUT: count(900, 30, 86_400).describe(
    'How many seconds a person has to answer the connect request of an external app',
  ),
  APP_CONNECTIONS_PER_MINUTE: count(20, 1).describe(
    'How often a minute a person may open or answer connect requests of external apps',
  ),
  SESSION_LIFETIME: z
    .union([z.number(), z.string()])
    .transform((time) => (/^\d+$/.test(`${time}`) ? `${time}m` : time))
    .pipe(timerDuration)
    .prefault('120m')
    .describe('How long a session lives after its last use; a bare number is minutes'),
  FRESH_SESSION_TIME: timerDuration
    .prefault('10m')
    .describe(
      'How long after a sign-in an administrator may change things in the browser, and a person reset their keys, without signing in again',
    ),
  USERDATA_ENCRYPTION_SALT: salt('of the keychain'),
  INVITATION_SALT: salt('of invitations'),
  AI_CRYPTO_SALT: salt('of the messages that models write in rooms'),
  PASSKEY_SALT: salt('of the passkey'),
  BACKUP_SALT: salt('of the recovery code'),
  APP_SECURITY_PASSKEY_ALLOW_PASTE: flag(true).describe('Whether a passkey may be pasted'),
  APP_SECURITY_PASSKEY_CHAR_LIMITATION: z
    .stringbool({ error: 'must be true or false' })
    .optional()
    .describe(
      'Allows in a new passphrase only letters, digits and !@#$%^&*()_+-; when absent: on where KEYCHAIN_FORM is `reference`, else off',
    ),
  KEYCHAIN_FORM: z
    .enum(['reference', 'salted'])
    .optional()
    .describe(
      'The form in which browsers wrap keychains: `salted`, with a salt for each person and 600,000 rounds, or `reference`, which other front ends open; when absent: `reference` with JSONAPI_MEMBER_CASE=snake, else `salted`. A keychain changes its form when it is unlocked the next time',
    ),
  KEYCHAIN_MAX_ENTRIES: count(5000, 20, 10_000).describe("Largest number of entries of a person's keychain"),
  KEYCHAIN_MAX_BYTES: count(4 * 1024 * 1024, 65_536, 64 * 1024 * 1024).describe(
    "Largest size of all keys and values of a person's keychain, in bytes",
  ),
  MAX_AVATAR_FILE_SIZE: count(2 * 1024 * 1024, 1).describe('Largest picture of a person, in bytes'),
  PROFILE_CHANGES_PER_MINUTE: count(60, 1).describe(
    'How often a minute a person may change what others see of them, their public key included',
  ),
  PEOPLE_SEARCHES_PER_MINUTE: count(30, 1).describe(
    'How often a minute a person may search for people, invite one by name, or look at an invitation',
  ),
}
