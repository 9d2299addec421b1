import { hash } from '@node-rs/argon2'
import { putHashedAccount, resolveAccountsPath } from '../../server/login/accounts.ts'
import type { TestApp } from './app.ts'
import { makePublicKey } from './identity/people.ts'

export interface BrowserRequest {
  body?: unknown
  /** Headers in place of those that a browser sends from its own pages. */
  headers?: Record<string, string>
  form?: Record<string, string>
}

/** A browser at the pages of a service: it stores cookies and sends Sec-Fetch-Site. */
export function openBrowser(url: string) {
  const cookies = new Map<string, string>()

  async function send(method: string, path: string, request: BrowserRequest = {}) {
    const answer = await fetch(url + path, { method, redirect: 'manual', ...buildRequest(cookies, request) })
    storeCookies(cookies, answer.headers)
    const { status, headers } = answer
    const text = await answer.text()
    const isJson = headers.get('content-type')?.includes('json')
    return { status, headers, text, body: (isJson ? JSON.parse(text) : undefined) as Record<string, unknown> }
  }

  return {
    cookies,
    send,
    get session() {
      return cookies.get('svc_session')
    },
    login: (account: string, password = PASSWORD) => send('POST', '/req/login', { body: { account, password } }),
    /** Returns the connection type: how far this browser's sign-in has come. */
    async standing(): Promise<string> {
      const { body } = await send('GET', '/api/svc/v1/connections/svc')
      return (body as { data: { attributes: { connectionType: string } } }).data.attributes.connectionType
    },
    /** Returns another browser with the same cookies. */
    copy() {
      const other = openBrowser(url)
      for (const [name, value] of cookies) other.cookies.set(name, value)
      return other
    },
  }
}

function buildRequest(cookies: Map<string, string>, { body, form, headers }: BrowserRequest) {
  const payload = typeof body === 'string' || form ? body : JSON.stringify(body)
  return {
    headers: {
      ...(cookies.size > 0 && { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(headers ?? { 'sec-fetch-site': 'same-origin' }),
    },
    ...(payload !== undefined && { body: payload as string }),
    ...(form && { body: new URLSearchParams(form) }),
  }
}

function storeCookies(cookies: Map<string, string>, headers: Headers): void {
  for (const line of headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value) cookies.set(name, value)
    else cookies.delete(name)
  }
}

export type TestBrowser = ReturnType<typeof openBrowser>

export const PASSWORD = 'correct horse battery'

export const buildIdentity = (username: string) => ({
  username,
  email: `${username}@example.org`,
  name: `The ${username}`,
})

let cachedHash: Promise<string> | undefined

/** Hashes the password with the least work, as each sign-in repeats it. */
function hashCheaply(): Promise<string> {
  cachedHash ??= hash(PASSWORD, { memoryCost: 8, timeCost: 1 })
  return cachedHash
}

/** Adds a local account of a person who has not signed in yet. */
export async function putAccount(env: TestApp['env'], username: string): Promise<void> {
  await putHashedAccount(resolveAccountsPath(env), { ...buildIdentity(username), hash: await hashCheaply() })
}

/** Adds a local account, and if `known` a person, by default with keys. */
export async function addAccount(svc: TestApp, username: string, { known = true, keys = true } = {}) {
  await putAccount(svc.env, username)
  await svc.renamePersonOfFirstTry(username)
  if (!known) return { id: 0, ...buildIdentity(username), token: '' }
  return svc.user({ username, keys })
}

/** Adds an account and returns a browser that is signed in. */
export async function signIn(svc: TestApp, username = 'ada', options = {}) {
  const person = await addAccount(svc, username, options)
  const browser = openBrowser(svc.url)
  const { status, text } = await browser.login(username)
  if (status !== 200) throw new Error(text)
  return { browser, ...person }
}

const encodeSealed = (text: string) => ['iv', 'tag', text].map((part) => Buffer.from(part).toString('base64')).join('|')

/** The request of a browser's handshake, whose values are any texts for the service. */
export const buildFirstKeys = (name = 'first') => ({
  publicKey: makePublicKey(name),
  keychain: [
    { key: 'privateKey', keyType: 'private_key', value: encodeSealed(`private ${name}`) },
    { key: 'publicKey', keyType: 'public_key', value: encodeSealed(`public ${name}`) },
    { key: 'aiConvKey', keyType: 'ai_conv', value: encodeSealed(`conversations ${name}`) },
  ],
  passkeyBackup: {
    ciphertext: Buffer.from(`passkey ${name}`).toString('base64'),
    iv: Buffer.from('iv').toString('base64'),
    tag: Buffer.from('tag').toString('base64'),
  },
})
