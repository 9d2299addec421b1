import { createHash, randomBytes } from 'node:crypto'
import { startApp, type TestApp } from '../app.ts'
import { signIn, type TestBrowser } from '../browser.ts'
import { findFreePort } from '../free-port.ts'

export const CALLBACK = 'http://127.0.0.1:4567/callback'

/** Settings with an address that the service knows, because programs compare the addresses of the sign-in. */
export async function chooseAddress(): Promise<Record<string, string>> {
  const port = await findFreePort()
  const limits = { OAUTH_REQUESTS_PER_MINUTE: '100000', APP_CONNECTIONS_PER_MINUTE: '1000' }
  return { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}`, ...limits }
}

export const startOAuth = async (settings: Record<string, string> = {}): Promise<TestApp> =>
  startApp({ ...(await chooseAddress()), ...settings })

interface Tokens {
  access_token: string
  refresh_token: string
  expires_in: number
  scope: string
}

export interface OAuthAnswer {
  status: number
  headers: Headers
  body: Record<string, unknown>
}

/** Sends a form, as programs do. */
export async function postForm(
  url: string,
  form: Record<string, string> | [string, string][],
  headers: Record<string, string> = {},
): Promise<OAuthAnswer> {
  const answer = await fetch(url, { method: 'POST', headers, body: new URLSearchParams(form) })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text === '' ? {} : JSON.parse(text) }
}

/** Registers a program; returns its id. */
export async function registerProgram(
  svc: Pick<TestApp, 'url'>,
  redirectUris: readonly string[] = [CALLBACK],
  name = 'Test program',
): Promise<string> {
  const body = JSON.stringify({ client_name: name, redirect_uris: redirectUris })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${svc.url}/oauth/register`, { method: 'POST', headers, body })
  const registered = (await answer.json()) as { client_id: string }
  if (answer.status !== 201) throw new Error(JSON.stringify(registered))
  return registered.client_id
}

export const makeVerifier = () => randomBytes(32).toString('base64url')
const toChallenge = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

interface RequestParts {
  clientId: string
  verifier: string
  parameters?: Record<string, string | undefined>
}

/** Builds the query with which a program sends its person to the service. */
export function buildQuery({ clientId, verifier, parameters = {} }: RequestParts): string {
  const all = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: CALLBACK,
    code_challenge: toChallenge(verifier),
    code_challenge_method: 'S256',
    state: 'state-1',
    ...parameters,
  }
  return String(
    new URLSearchParams(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)),
  )
}

interface ProcedureAnswer {
  status: number
  /** Code of the problem, if the call was refused. */
  problem?: string
  data?: unknown
}

/** Calls a procedure from a page of the service. */
export async function callFromPage(browser: TestBrowser, name: string, input?: unknown): Promise<ProcedureAnswer> {
  const isQuery = /\.(request|grants|grantsOf|clients|list)$/.test(name)
  const query = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`
  const { status, body } = isQuery
    ? await browser.send('GET', `/trpc/${name}${query}`)
    : await browser.send('POST', `/trpc/${name}`, { body: input })
  const { result, error } = body as { result?: { data: unknown }; error?: { data: { problem?: string } } }
  return { status, data: result?.data, ...(error && { problem: error.data.problem ?? 'invalid' }) }
}

export interface ShownRequest {
  view?: { request: string; client: { kind: string; name: string; host: string | null }; [member: string]: unknown }
  redirectTo?: string
}

export const showRequest = async (browser: TestBrowser, query: string) =>
  (await callFromPage(browser, 'oauth.request', { query })) as ProcedureAnswer & { data?: ShownRequest }

/** Consents as the page does; returns the address to which the browser goes. */
export async function consent(browser: TestBrowser, query: string, servers: number[] | null = null): Promise<URL> {
  const shown = await showRequest(browser, query)
  const request = shown.data?.view?.request
  if (!request) throw new Error(`no request to answer: ${JSON.stringify(shown)}`)
  const agreed = await callFromPage(browser, 'oauth.agree', { request, servers })
  const { redirectTo } = (agreed.data ?? {}) as { redirectTo?: string }
  if (!redirectTo) throw new Error(`not agreed: ${JSON.stringify(agreed)}`)
  return new URL(redirectTo)
}

interface SignInOptions {
  clientId?: string
  parameters?: Record<string, string | undefined>
  servers?: number[] | null
}

/** A program that a person has signed in. */
export interface SignedInProgram {
  clientId: string
  tokens: Tokens
  refresh(refreshToken?: string, at?: Pick<TestApp, 'url'>): Promise<OAuthAnswer>
}

/** Gets a code for a program by the consent of a person; the form exchanges it. */
export async function requestCode(svc: TestApp, browser: TestBrowser, options: SignInOptions = {}) {
  const clientId = options.clientId ?? (await registerProgram(svc))
  const verifier = makeVerifier()
  const target = await consent(browser, buildQuery({ clientId, verifier, ...options }), options.servers)
  const form = {
    grant_type: 'authorization_code',
    code: target.searchParams.get('code') ?? '',
    redirect_uri: options.parameters?.['redirect_uri'] ?? CALLBACK,
    client_id: clientId,
    code_verifier: verifier,
  }
  return { clientId, target, form }
}

/** Signs a program in, as a person who consents in a browser. */
export async function signInProgram(
  svc: TestApp,
  browser: TestBrowser,
  options: SignInOptions = {},
): Promise<SignedInProgram> {
  const { clientId, form } = await requestCode(svc, browser, options)
  const { status, body } = await postForm(`${svc.url}/oauth/token`, form)
  if (status !== 200) throw new Error(JSON.stringify(body))
  const tokens = body as unknown as Tokens
  const refresh = (refresh_token = tokens.refresh_token, at: Pick<TestApp, 'url'> = svc) =>
    postForm(`${at.url}/oauth/token`, { grant_type: 'refresh_token', refresh_token, client_id: clientId })
  return { clientId, tokens, refresh }
}

/** Adds a person with a browser and a program of theirs. */
export async function startPersonWithProgram(svc: TestApp, username: string, options: SignInOptions = {}) {
  const person = await signIn(svc, username)
  return { ...person, program: await signInProgram(svc, person.browser, options) }
}

/** The status of a request of a program with a token of a person whose abilities contain `ai`. */
export const tryToken = async (svc: Pick<TestApp, 'url'>, token: string, path = '/v1/models'): Promise<number> =>
  (await fetch(svc.url + path, { headers: { authorization: `Bearer ${token}` } })).status
