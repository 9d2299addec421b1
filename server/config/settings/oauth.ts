import { z } from 'zod'
import { appAbilities } from '../../../entities/apps/ext-app.ts'
import { clientPolicies } from '../../../routers/core/settings.ts'
import { DAY_MS } from '../../../routers/ports/days.ts'
import { duration } from '../../../routers/ports/duration.ts'
import { count, isWebHost, list } from './setting-types.ts'

const MINUTE_MS = 60_000

/** Abilities that no program can be given by a sign-in are those of apps, too: keys, metrics and administration. */
const isAbility = (text: string) => appAbilities.some((ability) => ability === text)

const clientAbilities = list
  .prefault('mcp')
  .refine((values) => values.length > 0 && values.every(isAbility), {
    error: `must be some of ${appAbilities.join(', ')}`,
  })
  .transform((values) => values as (typeof appAbilities)[number][])

/** A private scheme has a dot or belongs to a program; the browser itself runs none of those that are refused here. */
const isPrivateAddress = (text: string) => {
  const { protocol = '', hash = '' } = URL.parse(text) ?? {}
  return (
    protocol !== '' &&
    hash === '' &&
    !/^(https?|javascript|data|blob|file|about|vbscript|view-source|ws|wss):$/.test(protocol)
  )
}

/** A length of time in a range, in milliseconds. */
const between = (fallback: string, least: number, most: number, range: string) =>
  duration.prefault(fallback).refine((time) => time >= least && time <= most, `must be ${range}`)

/** Settings of the sign-in for programs. */
export const oauthShape = {
  OAUTH_CLIENTS: z
    .enum(clientPolicies)
    .optional()
    .describe(
      'Says which programs people can sign in, instead of pasting a token: `registered` by administrators, `documents` also those whose id is the https address of a document about them, `any` also those that register themselves. It needs ALLOW_EXTERNAL_COMMUNICATION, and people can consent only with ALLOW_USER_TOKEN_CREATION. If absent, it is `any` in development and `off` in production.',
    )
    .meta({ priority: 'may' }),
  OAUTH_CLIENT_HOSTS: list
    .prefault('*')
    .refine((values) => values.every((host) => host === '*' || isWebHost(host)), 'must be * or hosts such as claude.ai')
    .describe(
      'Lists the hosts whose documents about programs are accepted, separated by commas; `*` stands for all public ones. A host that is named may be in a private network and have a port.',
    )
    .meta({ priority: 'may' }),
  OAUTH_ABILITIES: clientAbilities
    .describe('Lists what people can allow such programs: `mcp` to call tools, `ai`, `user`, `read`, `write`.')
    .meta({ priority: 'may' }),
  OAUTH_ACCESS_LIFETIME: between('8h', 15 * MINUTE_MS, DAY_MS, '15m to 24h')
    .describe('Sets the time for which an access token of such a program is valid before the program renews it.')
    .meta({ priority: 'tuning' }),
  OAUTH_GRANT_LIFETIME: between('90d', DAY_MS, 365 * DAY_MS, '1d to 365d')
    .describe(
      'Sets the time without a renewal after which such a program must sign in again; a year is the most in all.',
    )
    .meta({ priority: 'may' }),
  OAUTH_GRANTS_PER_PERSON: count(50, 1, 1000)
    .describe('Limits the programs that a person has signed in; a further one ends the access of the longest unused.')
    .meta({ priority: 'tuning' }),
  OAUTH_REQUESTS_PER_MINUTE: count(30, 1)
    .describe('Limits the requests of programs for tokens and registrations per minute and network address.')
    .meta({ priority: 'tuning' }),
  OAUTH_REDIRECTS: list
    .refine((values) => values.every(isPrivateAddress), 'must be addresses such as myprogram://callback')
    .describe(
      'Lists further addresses with a scheme of their own to which programs may have people sent back, separated by commas.',
    )
    .meta({ priority: 'tuning' }),
}
