import type { Ability } from '../../entities/identity/access-token.ts'
import type { Context } from '../core/context.ts'
import type { OAuthError } from '../core/oauth-refusal.ts'
import { removeSlash } from '../ports/web-address.ts'
import { findRequestingClient, type KnownClient, MAX_CLIENT_ID } from './oauth-client.ts'
import { assertOAuthOn } from './oauth-policy.ts'
import { refuseOnPage } from './page-refusal.ts'
import { addParameters, describeRedirect, isSameRedirect } from './redirect-address.ts'
import { isResource } from './resource-address.ts'

const MAX_PARAMETERS = 8192
const MAX_STATE = 2000

/** A request of a program for access that a person may answer. */
export interface AuthorizationRequest {
  client: KnownClient
  redirectUri: string
  state: string | undefined
  challenge: string
  abilities: Ability[]
  resources: string[]
}

/** An answer that goes back to the program: the address with its parameters. */
export interface Redirect {
  redirectTo: string
}

/** A refusal that goes back to the program. */
class RedirectedRefusal extends Error {
  readonly error: OAuthError

  constructor(error: OAuthError, description: string) {
    super(description)
    this.error = error
  }
}

/**
 * Reads the query of the address to which a program has sent a person. Throws for the person to read while the address of
 * the program is not certain, or if anybody could have registered it; another refusal is returned as a redirect.
 */
export async function readAuthorizationRequest(
  ctx: Context,
  query: string,
): Promise<{ request: AuthorizationRequest } | Redirect> {
  assertOAuthOn(ctx.services.settings)
  if (query === '') throw refuseOnPage('No program has asked for anything. A program opens this page with its request.')
  if (query.length > MAX_PARAMETERS)
    throw refuseOnPage(`The request of this program has more than ${MAX_PARAMETERS} characters.`)
  const parameters = new URLSearchParams(query)
  const clientId = readOnce(parameters, 'client_id', MAX_CLIENT_ID)
  const redirectUri = readOnce(parameters, 'redirect_uri', MAX_PARAMETERS)
  const client = await findRequestingClient(ctx, clientId)
  if (!client.redirectUris.some((registered) => isSameRedirect(registered, redirectUri)))
    throw refuseOnPage('This program asks to have you sent to an address that is not registered for it.')
  const [state, ...furtherStates] = parameters.getAll('state')
  const target = {
    redirectUri,
    state: furtherStates.length === 0 && (state?.length ?? 0) <= MAX_STATE ? state : undefined,
  }
  try {
    return { request: { client, ...target, ...readRequestedAccess(ctx, parameters) } }
  } catch (error) {
    if (!(error instanceof RedirectedRefusal)) throw error
    return returnToProgram(client, redirectUri, error.message, buildRefusal(ctx, target, error.error, error.message))
  }
}

/**
 * Returns the answer for a program that an administrator has registered, or that is on the person's computer. For others
 * it throws: who registers an address could have people sent there from here, without a word, by a link to this service.
 */
function returnToProgram({ kind }: KnownClient, redirectUri: string, reason: string, answer: Redirect): Redirect {
  const described = describeRedirect(redirectUri)
  if (kind === 'registered' || described.type === 'this computer') return answer
  const target = described.type === 'site' ? described.host : `${described.scheme}:`
  throw refuseOnPage(reason, { way: { ...answer, target } })
}

/** Reads a parameter without which a program is not known. */
function readOnce(parameters: URLSearchParams, name: string, maxLength: number): string {
  const [value = '', ...further] = parameters.getAll(name)
  if (value === '' || further.length > 0 || value.length > maxLength)
    throw refuseOnPage(`The request of this program has no valid ${name}.`)
  return value
}

/** Parameters that may stand in a request once. */
const singles = ['response_type', 'scope', 'state', 'code_challenge', 'code_challenge_method', 'response_mode']

function readRequestedAccess(ctx: Context, parameters: URLSearchParams) {
  const repeated = singles.find((name) => parameters.getAll(name).length > 1)
  if (repeated) throw new RedirectedRefusal('invalid_request', `The parameter ${repeated} stands there twice.`)
  if ((parameters.get('state')?.length ?? 0) > MAX_STATE)
    throw new RedirectedRefusal('invalid_request', `The parameter state has more than ${MAX_STATE} characters.`)
  if (parameters.get('response_type') !== 'code')
    throw new RedirectedRefusal('unsupported_response_type', 'The only response_type is code.')
  if ((parameters.get('response_mode') ?? 'query') !== 'query')
    throw new RedirectedRefusal('invalid_request', 'The only response_mode is query.')
  const challenge = parameters.get('code_challenge') ?? ''
  if (parameters.get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(challenge))
    throw new RedirectedRefusal('invalid_request', 'A code_challenge with the code_challenge_method S256 is required.')
  const resources = [...new Set(parameters.getAll('resource').map(removeSlash))]
  if (!resources.every((address) => isResource(ctx, address)))
    throw new RedirectedRefusal('invalid_target', 'The resource is no address of this service that takes tokens.')
  return { challenge, resources, abilities: readAbilities(ctx, parameters.get('scope')) }
}

/** Returns the abilities of a scope that people can give here; without a scope, all of these. */
function readAbilities({ services }: Context, scope: string | null): Ability[] {
  const { abilities } = services.settings.oauth
  const wanted = (scope ?? '').split(' ').filter(Boolean)
  const found = wanted.length === 0 ? abilities : abilities.filter((ability) => wanted.includes(ability))
  if (found.length > 0) return [...found]
  throw new RedirectedRefusal('invalid_scope', `The scopes are ${abilities.join(' ')}.`)
}

type Target = Pick<AuthorizationRequest, 'redirectUri' | 'state'>

/** Builds an answer for the program, which names us so that a program with several servers cannot mix them up. */
export const buildRedirect = (
  { services }: Context,
  { redirectUri, state }: Target,
  answer: Record<string, string>,
): Redirect => ({
  redirectTo: addParameters(redirectUri, { ...answer, state, iss: services.settings.baseUrl }),
})

export const buildRefusal = (ctx: Context, target: Target, error: OAuthError, description: string): Redirect =>
  buildRedirect(ctx, target, { error, error_description: description })
