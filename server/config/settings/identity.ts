import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { count, flag } from './setting-types.ts'

/** Defines a salt for keys that browsers derive. If it changes, everything encrypted with those keys is unreadable. */
const salt = (what: string) =>
  z
    .string()
    .min(16, 'must have at least 16 characters; `openssl rand -hex 16` makes a good one')
    .optional()
    .describe(`Sets the salt ${what}. It must never change. If absent, development derives it from APP_KEY.`)
    .meta({ priority: 'must', secret: true })

/** Settings of people: tokens, sessions, keys and profiles. */
export const identityShape = {
  ALLOW_EXTERNAL_COMMUNICATION: z
    .stringbool({ error: 'must be true or false' })
    .optional()
    .describe('Allows access tokens. If absent, they work in development and not in production.')
    .meta({ priority: 'may' }),
  ALLOW_USER_TOKEN_CREATION: z
    .stringbool({ error: 'must be true or false' })
    .optional()
    .describe(
      'Allows people to create their own access tokens, and to give programs access. If absent, they can in development and not in production.',
    )
    .meta({ priority: 'may' }),
  ALLOW_ACCOUNT_REMOVAL: flag(false)
    .describe(
      'Allows people to remove their own accounts, with all that they own, after a fresh sign-in. Somebody whom the sign-in registers anew begins with unused personal limits.',
    )
    .meta({ priority: 'may' }),
  ALLOW_EXTERNAL_APPS: flag(false)
    .describe('Allows external apps: their own credentials, and the tokens that they hold for people.')
    .meta({ priority: 'may' }),
  EXT_APPS: z
    .string()
    .optional()
    .describe('Names the YAML or JSON file of external apps. Apps that administrators created stay in addition.')
    .meta({ priority: 'may' }),
  ALLOW_EXTERNAL_APPS_GROUPS_AI: flag(false)
    .describe('Allows programs with access tokens to ask models in the rooms of their owners.')
    .meta({ priority: 'may' }),
  ALLOW_EXTERNAL_APPS_CONNECT_REQUEST_TIMEOUT: count(900, 30, 86_400)
    .describe('Sets the time in which a person can answer the connect request of an external app, in seconds.')
    .meta({ priority: 'tuning' }),
  APP_CONNECTIONS_PER_MINUTE: count(20, 1)
    .describe('Limits the connect requests of external apps that a person can open or answer per minute.')
    .meta({ priority: 'tuning' }),
  SESSION_LIFETIME: z
    .union([z.number(), z.string()])
    .transform((time) => (/^\d+$/.test(`${time}`) ? `${time}m` : time))
    .pipe(timerDuration)
    .prefault('120m')
    .describe('Sets the time for which a session is valid after its last use. A number without a unit is in minutes.')
    .meta({ priority: 'may' }),
  FRESH_SESSION_TIME: timerDuration
    .prefault('10m')
    .describe(
      'Sets the time after a sign-in in which administrators can make changes in the browser, and people can reset their keys, without signing in again.',
    )
    .meta({ priority: 'tuning' }),
  USERDATA_ENCRYPTION_SALT: salt('of the keychain'),
  INVITATION_SALT: salt('of invitations'),
  AI_CRYPTO_SALT: salt('of the messages that models write in rooms'),
  PASSKEY_SALT: salt('of the passkey'),
  BACKUP_SALT: salt('of the recovery code'),
  APP_SECURITY_PASSKEY_ALLOW_PASTE: flag(true)
    .describe('Allows people to paste their passphrase.')
    .meta({ priority: 'may' }),
  APP_SECURITY_PASSKEY_CHAR_LIMITATION: z
    .stringbool({ error: 'must be true or false' })
    .optional()
    .describe(
      'Allows only letters, digits and !@#$%^&*()_+- in a new passphrase. If absent, it is on where KEYCHAIN_FORM is `reference`, and else off.',
    )
    .meta({ priority: 'may' }),
  KEYCHAIN_FORM: z
    .enum(['reference', 'salted'])
    .optional()
    .describe(
      'Sets the form in which browsers encrypt keychains. `salted` uses a salt for each person and 600,000 rounds; `reference` is the form that other front ends can open. If absent, it is `reference` with JSONAPI_MEMBER_CASE=snake, and else `salted`. A keychain changes its form the next time it is unlocked.',
    )
    .meta({ priority: 'may' }),
  KEYCHAIN_MAX_ENTRIES: count(5000, 20, 10_000)
    .describe("Limits the entries of one person's keychain.")
    .meta({ priority: 'tuning' }),
  KEYCHAIN_MAX_BYTES: count(4 * 1024 * 1024, 65_536, 64 * 1024 * 1024)
    .describe("Limits all keys and values of one person's keychain together, in bytes.")
    .meta({ priority: 'tuning' }),
  MAX_AVATAR_FILE_SIZE: count(2 * 1024 * 1024, 1)
    .describe('Limits the picture of a person, in bytes.')
    .meta({ priority: 'tuning' }),
  PROFILE_CHANGES_PER_MINUTE: count(60, 1)
    .describe(
      'Limits the changes per minute that a person can make to their public profile, including their public key.',
    )
    .meta({ priority: 'tuning' }),
  PEOPLE_SEARCHES_PER_MINUTE: count(30, 1)
    .describe(
      'Limits the searches for people, invitations by name and views of an invitation that a person can make per minute.',
    )
    .meta({ priority: 'tuning' }),
}
