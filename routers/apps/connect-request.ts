import { type AppToConnect, type ConnectStatus, findAppToConnect } from '../../entities/apps/ext-app.sql.ts'
import { claimConnectRequest } from '../../entities/apps/ext-app-connect-request.ts'
import type { Caller } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'
import { Problem } from '../core/problems.ts'
import type { OpenedRequest } from '../ports/connect-requests.ts'
import { normalizeAddress } from '../ports/web-address.ts'

export type Deciding = Context & { caller: Extract<Caller, { type: 'user' }> }

/** More than the longest id of a user takes. */
export const MAX_REQUEST = 8192

interface AskingApp {
  request: OpenedRequest
  app: AppToConnect
}

/** Who asks for a link by a connect request; throws where nobody does, or no longer. */
export async function openConnectRequest(ctx: Deciding, text: string): Promise<AskingApp> {
  const { settings, connectRequests, sql } = ctx.services
  if (!settings.allowExternalCommunication || !settings.allowExternalApps) throw new Problem('external_apps_off')
  await consumeRateLimit(ctx, [`connect:${ctx.caller.person.id}`], settings.connectionsPerMinute)
  const request = connectRequests.read(text)
  const [app] = request ? await sql(findAppToConnect, [Number(request.appId)]) : []
  if (!request || !app || !request.isFor(app.publicKey)) throw new Problem('connect_request_invalid')
  return { request, app }
}

interface ClaimedRequest {
  app: AppToConnect
  /** Whether this person has agreed to it. */
  isAnswered: boolean
}

/** The same, which is for this person alone from now on: nobody can hand theirs to somebody else once they have seen it. */
export async function claim(ctx: Deciding, text: string): Promise<ClaimedRequest> {
  const { request, app } = await openConnectRequest(ctx, text)
  const [claimed] = await ctx.services.sql(claimConnectRequest, [request.hash, ctx.caller.person.id, request.expiresAt])
  if (!claimed) throw new Problem('connect_request_invalid')
  return { app, ...claimed }
}

/** One that is registered, as a whole; nobody is ever sent elsewhere. */
export function redirectTo(registered: readonly string[], wanted = registered[0] ?? ''): string {
  const address = normalizeAddress(wanted)
  const found = registered.find((one) => normalizeAddress(one) === address)
  if (found === undefined) throw new Problem('connect_request_invalid')
  return found
}

/** The same address with how the connection ended in its query. */
export const backUrl = ({ services }: Context, url: string, status: ConnectStatus): string =>
  `${url}${url.includes('?') ? '&' : '?'}${services.settings.brand}-connect-status=${status}`
