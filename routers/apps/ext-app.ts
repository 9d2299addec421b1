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
    'Other programs that people can link to their account. Administrators see all of them, and people the one that asks them, by its connect request in place of the id.',
  entity: ExtApp,
  scope: everyRowForAdminsAlone,
  attributes: {
    name: attribute(z.string().trim().min(1).max(120).describe('The name that people see, unique.'), {
      write: true,
      sort: true,
    }),
    description: attribute(z.string().max(2000).nullable().describe('What it is for.'), { write: true, default: null }),
    url: attribute(secureAddress.describe('Where it is.'), { write: true }),
    redirectUrls: attribute(
      z
        .array(redirectUrl)
        .min(1)
        .max(10)
        .overwrite(removeDuplicates)
        .describe('Where it may have browsers sent back, exactly; the first where it does not say.'),
      { write: true },
    ),
    redirectOnConnectionAccepted: attribute(z.string().describe('Where the browser goes once the person has agreed.'), {
      sql: redirectUrlWith('success'),
    }),
    redirectOnConnectionDeclined: attribute(z.string().describe('Where it goes when they decline.'), {
      sql: redirectUrlWith('declined'),
    }),
    logoUrl: attribute(secureAddress.nullable().describe('Where its picture is.'), { write: true, default: null }),
    logoProxyUrl: attribute(
      z.string().nullable().describe('Where people whom it asks see that picture, for a while. Told to them alone.'),
      { sql: () => 'null::text' },
    ),
    publicKey: attribute(
      z.string().describe('`b64(PEM)|b64(body)` of its RSA key, for which the secrets of links are sealed.'),
      {
        write: true,
        sensitive: true,
        default: null,
        input: publicKeyInput
          .nullable()
          .describe(
            'An RSA key of at least 2048 bits, as SPKI in PEM or base64; null to have a pair made. Another one ends all links.',
          ),
      },
    ),
    abilities: attribute(abilitiesOfApps.describe('What it may ask people for.'), {
      write: true,
      default: ['ai', 'user'],
    }),
    needsKeys: attribute(
      z.boolean().describe('Whether it cannot do without the passkey of people, by which it reads all that they can.'),
      { write: true, default: false },
    ),
    linkDays: attribute(linkDays.describe('How many days a link holds.'), { write: true, default: 90 }),
    active: attribute(z.boolean().describe('While false, neither its credentials nor its links work; they are kept.'), {
      write: true,
      default: true,
    }),
    credential: attribute(z.string().describe('By what it proves who it is. Told once.'), onceOnly),
    credentialExpiresAt: attribute(
      time.describe('Until when it has a credential that works; absent where one has no end, or there is none.'),
      {
        write: 'create',
        sql: credentialsEnd,
        sparse: true,
        default: null,
        input: credentialEnd.describe('Until when its first credential works; null for no end.'),
      },
    ),
    privateKey: attribute(z.string().describe('The other half of a pair that was made here. Told once.'), onceOnly),
    ...sortedTimestamps,
  },
  page: { size: 50, max: 200 },
})
