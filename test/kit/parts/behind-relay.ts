import { expect } from 'vitest'
import { addAccount, openBrowser } from '../browser.ts'
import { cloneDatabase } from '../database.ts'
import { addCatalogue, base, mediaType, startJsonApi } from '../json-api/client.ts'
import { type OnSent, startRelay } from './relay.ts'

export interface Call {
  method: string
  path: string
  body?: unknown
}

export interface Answer {
  status: number
  text: string
}

/** A service with a catalogue, whose database is behind a relay that can be cut. */
export async function startBehindRelay() {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await cloneDatabase())
  const url = new URL(database.url)
  let onSent: OnSent | undefined
  const relay = resources.use(
    await startRelay(Number(url.port), { onSent: (...piece) => onSent?.(...piece) ?? undefined }),
  )
  url.host = `127.0.0.1:${relay.port}`
  const svc = resources.use(await startJsonApi({ DATABASE_URL: url.href }))
  const catalogue = await addCatalogue(svc)
  const disposables = resources.move()
  return {
    svc,
    relay,
    catalogue,
    /** Sets the observer of the packets to the database. */
    watch: (seeing: OnSent | undefined) => {
      onSent = seeing
    },
    token: { authorization: `Bearer ${svc.people.admin.token}` },
    /** Signs a person in, by default with keys. */
    async session(username: string, { hasKeys = true } = {}): Promise<Record<string, string>> {
      await addAccount(svc, username, { known: hasKeys })
      const browser = openBrowser(svc.url)
      expect((await browser.login(username)).status).toBe(200)
      const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
      return { cookie, 'sec-fetch-site': 'same-origin' }
    },
    async send(headers: Record<string, string>, call: Call): Promise<Answer> {
      const type = isJsonApi(call) ? mediaType : 'application/json'
      const response = await fetch(svc.url + call.path, {
        method: call.method,
        redirect: 'manual',
        headers: { ...headers, ...(call.body !== undefined && { 'content-type': type }) },
        ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
      })
      return { status: response.status, text: await response.text() }
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

export const describeCall = ({ method, path }: Call) => `${method} ${path}`

const isJsonApi = ({ path }: Call) => path.startsWith(base)
const isHealth = ({ path }: Call) => path.startsWith('/health')

/** Returns the error code of a 503 in the error format of its surface; undefined for another status. */
export function readProblem(call: Call, { status, text }: Answer): string | undefined {
  if (status !== 503) return undefined
  if (isHealth(call)) return 'unavailable'
  const body = JSON.parse(text)
  if (isJsonApi(call)) return body.errors[0].code
  if (call.path.startsWith('/trpc')) return body.error.data.problem
  if (call.path.startsWith('/v1/')) return body.error.code
  if (call.path.startsWith('/mcp')) return body.error.data.code
  return body.success === false ? 'unavailable' : undefined
}
