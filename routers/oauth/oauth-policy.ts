import type { ClientKind } from '../../entities/oauth/oauth-client.ts'
import type { Context } from '../core/context.ts'
import { toClientNetwork } from '../core/load/client-network.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'
import { Problem } from '../core/problems.ts'
import type { Settings } from '../core/settings.ts'

const leastPolicies = { registered: 'registered', document: 'documents', dynamic: 'any' } as const
const policies = ['off', 'registered', 'documents', 'any']

/** Returns true if people may sign in clients of this kind. */
export const isOpenTo = (kind: ClientKind, { oauth: { clients } }: Pick<Settings, 'oauth'>): boolean =>
  policies.indexOf(clients) >= policies.indexOf(leastPolicies[kind])

/** Returns true if people may sign in this client, and it may use what it got: the host of its document is allowed, too. */
export const isOpenToClient = (kind: ClientKind, host: string | null, settings: Pick<Settings, 'oauth'>): boolean =>
  isOpenTo(kind, settings) && (kind !== 'document' || isHostAllowed(host, settings))

const isHostAllowed = (host: string | null, { oauth: { clientHosts } }: Pick<Settings, 'oauth'>) =>
  clientHosts.includes('*') || (host !== null && clientHosts.includes(host))

/** Throws as for an unknown address if nobody can sign in programs. */
export function assertOAuthOn({ oauth }: Pick<Settings, 'oauth'>): void {
  if (oauth.clients === 'off') throw new Problem('not_found', { detail: 'The sign-in for programs is switched off.' })
}

/** Counts a request of a program, which nobody has to be signed in for, against its network. */
export const assertWithinRate = (ctx: Context): Promise<void> =>
  consumeRateLimit(ctx, [`oauth:${toClientNetwork(ctx.address ?? '')}`], ctx.services.settings.oauth.requestsPerMinute)
