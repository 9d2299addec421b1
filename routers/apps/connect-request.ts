import { type AppToConnect, type ConnectStatus, findAppToConnect } from '../../entities/apps/ext-app.sql.ts'
import { claimConnectRequest } from '../../entities/apps/ext-app-connect-request.ts'
import type { Caller } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'
import { Problem } from '../core/problems.ts'
import type { OpenedRequest } from '../ports/connect-requests.ts'
import { normalizeAddress } from '../ports/web-address.ts'

export type ConsentContext = Context & { caller: Extract<Caller, { type: 'user' }> }

/** Longer than a request with the longest user id. */
export const MAX_REQUEST = 8192

interface RequestingApp {
  request: OpenedRequest
  app: AppToConnect
}

/** Opens a connect request and finds its app. Throws if the request is invalid or has expired. */
export async function openConnectRequest(ctx: ConsentContext, text: string): Promise<RequestingApp> {
  const { settings, sql } = ctx.services
  const { connectRequests } = ctx.services.login
  if (!settings.allowExternalCommunication || !settings.allowExternalApps) throw new Problem('external_apps_off')
  await consumeRateLimit(ctx, [`connect:${ctx.caller.person.id}`], settings.connectionsPerMinute)
  const request = connectRequests.read(text)
  const [app] = request ? await sql(findAppToConnect, [Number(request.appId)]) : []
  if (!request || !app || !request.isFor(app.publicKey)) throw new Problem('connect_request_invalid')
  return { request, app }
}

interface ClaimedRequest {
  app: AppToConnect
  /** True if this person has already agreed. */
  isAnswered: boolean
}

/** Opens a connect request and binds it to the caller, so that nobody can pass on a request they have seen. */
export async function claimForCaller(ctx: ConsentContext, text: string): Promise<ClaimedRequest> {
  const { request, app } = await openConnectRequest(ctx, text)
  const [claimed] = await ctx.services.sql(claimConnectRequest, [request.hash, ctx.caller.person.id, request.expiresAt])
  if (!claimed) throw new Problem('connect_request_invalid')
  return { app, ...claimed }
}

/** Returns the registered URL that equals the requested one. Browsers are never redirected elsewhere. */
export function chooseRedirectUrl(registeredUrls: readonly string[], requestedUrl = registeredUrls[0] ?? ''): string {
  const address = normalizeAddress(requestedUrl)
  const redirectUrl = registeredUrls.find((one) => normalizeAddress(one) === address)
  if (redirectUrl === undefined) throw new Problem('connect_request_invalid')
  return redirectUrl
}

/** Adds the outcome of the connection to the query of the URL. */
export const buildReturnUrl = ({ services }: Context, url: string, status: ConnectStatus): string =>
  `${url}${url.includes('?') ? '&' : '?'}${services.settings.brand}-connect-status=${status}`
