import { z } from 'zod'
import { credentialsEnd, redirectUrlWith } from '../../entities/apps/ext-app.sql.ts'
import { appAbilities, ExtApp } from '../../entities/apps/ext-app.ts'
import { everyRowForAdminsAlone } from '../../entities/sql/scope.ts'
import { moment } from '../ports/days.ts'
import { removeDuplicates } from '../ports/remove-duplicates.ts'
import { secureAddress } from '../ports/web-address.ts'
import { attribute, defineResource, sortedTimestamps, time } from '../resource/declare.ts'
import { publicKeyInput } from './app-key.ts'

// An empty fragment counts as well: a query that is appended behind it would never reach the app.
const redirectUrl = secureAddress.refine((text) => !text.includes('#'), 'must have no fragment')

/** Number of days that a person can agree for. */
const linkDays = z.int().min(1).max(365)
export const abilitiesOfApps = z.array(z.enum(appAbilities)).min(1).max(20).overwrite(removeDuplicates)
/** Expiry of a credential; null for none. */
export const credentialEnd = moment.refine((text) => new Date(text) > new Date(), 'must be in the future').nullable()
const onceOnly = { sparse: true, sql: () => 'null::text' } as const

export const extApps = defineResource({
  type: 'ext-apps',
  about:
    'Other programs that people can link to their account. Administrators see all of them. People see the app that asks them, with its connect request in place of the id.',
  entity: ExtApp,
  scope: everyRowForAdminsAlone,
  attributes: {
    name: attribute(z.string().trim().min(1).max(120).describe('The unique name that people see.'), {
      write: true,
      sort: true,
    }),
    description: attribute(z.string().max(2000).nullable().describe('The purpose of the app, for people.'), {
      write: true,
      default: null,
    }),
    url: attribute(secureAddress.describe('The address of the app.'), { write: true }),
    redirectUrls: attribute(
      z
        .array(redirectUrl)
        .min(1)
        .max(10)
        .overwrite(removeDuplicates)
        .describe('The exact addresses that browsers may return to. The first is used if the app names none.'),
      { write: true },
    ),
    redirectOnConnectionAccepted: attribute(
      z.string().describe('The address to which the browser returns after the person agreed.'),
      {
        sql: redirectUrlWith('success'),
      },
    ),
    redirectOnConnectionDeclined: attribute(
      z.string().describe('The address to which the browser returns after the person declined.'),
      {
        sql: redirectUrlWith('declined'),
      },
    ),
    logoUrl: attribute(secureAddress.nullable().describe("The address of the app's picture."), {
      write: true,
      default: null,
    }),
    logoProxyUrl: attribute(
      z
        .string()
        .nullable()
        .describe('A temporary address of that picture for people whom the app asks. Only they get it.'),
      { sql: () => 'null::text' },
    ),
    publicKey: attribute(
      z.string().describe("`b64(PEM)|b64(body)` of the app's RSA key, for which the secrets of links are encrypted."),
      {
        write: true,
        sensitive: true,
        default: null,
        input: publicKeyInput
          .nullable()
          .describe(
            'An RSA key of at least 2048 bits, as SPKI in PEM or base64; null creates a pair. Changing it ends all links.',
          ),
      },
    ),
    abilities: attribute(abilitiesOfApps.describe('The abilities that the app may ask people for.'), {
      write: true,
      default: ['ai', 'user'],
    }),
    needsKeys: attribute(
      z
        .boolean()
        .describe('True if the app requires the passkey of people, with which it can read everything that they can.'),
      { write: true, default: false },
    ),
    linkDays: attribute(linkDays.describe('The number of days for which a link is valid.'), {
      write: true,
      default: 90,
    }),
    active: attribute(
      z
        .boolean()
        .describe('True if the app is enabled. While false, its credentials and links do not work, but they are kept.'),
      {
        write: true,
        default: true,
      },
    ),
    credential: attribute(
      z.string().describe('The credential that authenticates the app. Only the response that creates it contains it.'),
      onceOnly,
    ),
    credentialExpiresAt: attribute(
      time.describe(
        'The time at which the last working credential expires. Absent if one never expires, or if none works.',
      ),
      {
        write: 'create',
        sql: credentialsEnd,
        sparse: true,
        default: null,
        input: credentialEnd.describe('The time at which the first credential expires; null for never.'),
      },
    ),
    privateKey: attribute(
      z
        .string()
        .describe('The private key of a pair that the service created. Only the response that creates it contains it.'),
      onceOnly,
    ),
    ...sortedTimestamps,
  },
  page: { size: 50, max: 200 },
})
