import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { listOwnAccounts } from '../../entities/catalogue/mcp-connection.sql.ts'
import type { ConnectionState } from '../../entities/catalogue/mcp-connection.ts'
import type { Ability } from '../../entities/identity/access-token.ts'
import { generateSecret, hashSecret } from '../../entities/identity/token-format.ts'
import { saveClient } from '../../entities/oauth/oauth-client.sql.ts'
import type { ClientKind } from '../../entities/oauth/oauth-client.ts'
import { insertCode } from '../../entities/oauth/oauth-code.sql.ts'
import { findLastConsent } from '../../entities/oauth/oauth-grant.sql.ts'
import { listServersForCaller, type OfferedServer } from '../ai/tools/offered-servers.ts'
import { toServerSlug } from '../catalogue/tools/tool-names.ts'
import type { Caller } from '../core/caller.ts'
import { runInTransaction } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { openSealed } from '../core/sealed.ts'
import { lockActiveSession } from '../identity/end-sessions.ts'
import type { BrowserSession } from '../ports/session.ts'
import { OAUTH_REQUEST } from '../ports/vault.ts'
import {
  type AuthorizationRequest,
  buildRedirect,
  buildRefusal,
  type Redirect,
  readAuthorizationRequest,
} from './authorization-request.ts'
import { refuseOnPage } from './page-refusal.ts'
import { describeRedirect, type RedirectTarget } from './redirect-address.ts'
import { findServerName } from './resource-address.ts'

export type ConsentContext = Context & { caller: Extract<Caller, { type: 'user' }>; browser: BrowserSession }

const ANSWER_MS = 15 * 60_000
const CODE_MS = 60_000

interface ConsentServer extends OfferedServer {
  /** The person's own account there, with which it is called. Absent if the server needs none of theirs. */
  account?: ConnectionState | 'none'
}

/** A person sees this before they answer the request of a program. */
export interface ConsentView {
  /** Answers the request; it works once, in this session, for 15 minutes. */
  request: string
  client: {
    /** Nobody vouches for the name of a `dynamic` one. */
    kind: ClientKind
    name: string
    /** The host of the address of its document. */
    host: string | null
  }
  /** The browser, and with it the code, goes there after the answer. */
  target: RedirectTarget
  person: { username: string; name: string }
  abilities: Ability[]
  /** The tool servers that the program may use, with the numbers of what they offer; empty if it may call no tools. */
  servers: ConsentServer[]
  /** True if the program asks for exactly these servers, so that the person cannot choose. */
  hasFixedServers: boolean
  /** Servers that the person chose for this program last time; null for all. Absent if the program may be another one. */
  lastServers?: number[] | null
  /** True if the document of the program has named other addresses since the person allowed it something. */
  hasNewAddresses: boolean
  /** Milliseconds after the last use in which the access ends. */
  grantLifetime: number
}

/** Reads the request of a program, binds it to the session, and returns what the person must know, or where to go at once. */
export async function showRequest(ctx: ConsentContext, query: string): Promise<{ view: ConsentView } | Redirect> {
  const { services, caller, browser } = ctx
  assertMayConsent(ctx)
  await consumeRateLimit(ctx, [`oauth-consent:${caller.person.id}`], services.settings.connectionsPerMinute)
  const found = await readAuthorizationRequest(ctx, query)
  if (!('request' in found)) return found
  const { client, redirectUri, abilities } = found.request
  const { kind, name, host } = client
  const { username, name: personName } = caller.person
  const sealed = {
    query,
    user: caller.person.id,
    session: browser.session?.handle,
    id: randomBytes(16).toString('hex'),
  }
  return {
    view: {
      request: services.vault.seal(JSON.stringify({ ...sealed, at: Date.now() }), OAUTH_REQUEST),
      client: { kind, name, host },
      target: describeRedirect(redirectUri),
      person: { username, name: personName },
      abilities,
      servers: await addAccounts(ctx, await listServers(ctx, found.request)),
      hasFixedServers: findFixedNames(ctx, found.request) !== undefined,
      ...(await describeLastConsent(ctx, found.request)),
      grantLifetime: services.settings.oauth.grantLifetime,
    },
  }
}

function assertMayConsent({ services }: Context): void {
  if (!services.settings.allowUserTokenCreation) throw new Problem('token_creation_off')
}

/** Returns the names of the tool servers of a request that is limited to some. */
function findFixedNames(ctx: Context, { resources }: AuthorizationRequest): string[] | undefined {
  const names = resources.map((address) => findServerName(ctx, address))
  return names.length > 0 && names.every((name) => name !== undefined) ? (names as string[]) : undefined
}

/** Lists the servers that offer the person something, and that the program asks for. */
async function listServers(ctx: ConsentContext, request: AuthorizationRequest): Promise<OfferedServer[]> {
  if (!request.abilities.includes('mcp')) return []
  const servers = await listServersForCaller(ctx)
  const names = findFixedNames(ctx, request)
  return servers
    .filter(({ id, label }) => !names || names.includes(toServerSlug(label)) || names.includes(String(id)))
    .toSorted((one, other) => one.label.localeCompare(other.label))
}

/** Says of the servers that are called with own accounts whether the person has one there. */
async function addAccounts({ services, caller }: ConsentContext, servers: OfferedServer[]): Promise<ConsentServer[]> {
  if (servers.length === 0) return []
  const accounts = await services.sql(listOwnAccounts, [caller.person.id])
  const states = new Map(accounts.map(({ server, state }) => [server, state ?? ('none' as const)]))
  return servers.map((server) => {
    const account = states.get(server.id)
    return account ? { ...server, account } : server
  })
}

/**
 * Describes what the person allowed the program last. A site is known by its name; another program on this computer could
 * have the same address, so the servers are remembered for sites alone.
 */
async function describeLastConsent(
  { services, caller }: ConsentContext,
  { client, redirectUri }: AuthorizationRequest,
): Promise<Pick<ConsentView, 'lastServers' | 'hasNewAddresses'>> {
  if (client.kind === 'dynamic') return { hasNewAddresses: false }
  const [last] = await services.sql(findLastConsent, [caller.person.id, client.storedId])
  if (!last) return { hasNewAddresses: false }
  const { servers, hasNewAddresses } = last
  return { hasNewAddresses, ...(describeRedirect(redirectUri).type === 'site' && { lastServers: servers }) }
}

const sealedRequest = z.strictObject({
  query: z.string(),
  user: z.number(),
  session: z.string(),
  id: z.string(),
  at: z.number(),
})

/** Opens a request that the caller was shown in this session, and takes it, so that it is answered once. */
async function takeRequest(ctx: ConsentContext, sealed: string): Promise<AuthorizationRequest | Redirect> {
  const { services, caller, browser } = ctx
  assertMayConsent(ctx)
  const opened = openSealed(services.vault, sealed, OAUTH_REQUEST, sealedRequest)
  const isOwn = opened?.user === caller.person.id && opened.session === browser.session?.handle
  if (!opened || !isOwn || Date.now() > opened.at + ANSWER_MS) throw createOutdatedProblem()
  if (!(await services.stores.kv.setIfAbsent(`oauth:answered:${opened.id}`, '1', ANSWER_MS)))
    throw createOutdatedProblem()
  const found = await readAuthorizationRequest(ctx, opened.query)
  return 'request' in found ? found.request : found
}

const createOutdatedProblem = () => refuseOnPage('This request is no longer valid. Start again from the program.')

/** Gives the program a code for what the person allows. `servers` is null for all, also those that are added later. */
export async function acceptRequest(ctx: ConsentContext, sealed: string, servers: number[] | null): Promise<Redirect> {
  const request = await takeRequest(ctx, sealed)
  if ('redirectTo' in request) return request
  const { client, redirectUri, challenge, abilities, resources } = request
  const chosen = await chooseServers(ctx, request, servers)
  const code = `svc_code_${generateSecret()}`
  const { person } = ctx.caller
  await runInTransaction(ctx, undefined, async (em) => {
    // Whoever is signed out everywhere meanwhile gives no code afterwards.
    await lockActiveSession(em, ctx.browser.session?.handle ?? '')
    const [saved] = await runStatement(em, saveClient, toClientValues(request))
    if (!saved) throw refuseOnPage('An administrator has blocked this program.')
    const expiresAt = new Date(Date.now() + CODE_MS)
    const values = [redirectUri, challenge, abilities, resources, chosen, expiresAt]
    await runStatement(em, insertCode, [hashSecret(code), saved.id, person.id, ...values])
    const { name, host } = client
    ctx.auditedCall?.setSubject(`user:${person.id}`).recordChange({ client: name, host, abilities, servers: chosen })
  })
  return buildRedirect(ctx, request, { code })
}

/** The row of a registered client belongs to the administrators. */
const toClientValues = ({ client }: AuthorizationRequest) => {
  const { storedId, kind, name, host, redirectUris, fetched } = client
  const times = fetched ? [new Date(fetched.fetchedAt), new Date(fetched.freshUntil)] : [null, null]
  return [storedId, kind, name, host, redirectUris, fetched ? JSON.stringify(fetched.document) : null, ...times]
}

/** Returns the chosen servers among those that were shown; null for all. */
async function chooseServers(ctx: ConsentContext, request: AuthorizationRequest, wanted: number[] | null) {
  if (!request.abilities.includes('mcp')) return []
  const shown = (await listServers(ctx, request)).map(({ id }) => id)
  if (findFixedNames(ctx, request)) return shown
  return wanted && shown.filter((id) => wanted.includes(id))
}

export async function declineRequest(ctx: ConsentContext, sealed: string): Promise<Redirect> {
  const request = await takeRequest(ctx, sealed)
  if ('redirectTo' in request) return request
  return buildRefusal(ctx, request, 'access_denied', 'The person has declined.')
}
