import { applies, Failure } from './check.ts'
import { type Json, type JsonObject, object } from './json.ts'
import { MEDIA_TYPE } from './media-type.ts'
import { urlOf } from './walk.ts'

export interface Answer {
  at: string
  method: string
  url: string
  status: number
  headers: Headers
  text: string
  /** The document that was sent, if any. */
  sent: Json | undefined
  body: Json | undefined
  document: JsonObject
  /** True if its primary data, if any, is linkage. */
  isLinkage: boolean
}

export interface ClientOptions {
  url: string
  /** Sent as a bearer token. */
  token?: string | undefined
  /** Sent with every request. */
  headers?: Record<string, string> | undefined
}

export interface SendOptions {
  query?: string | Record<string, string>
  body?: Json | undefined
  headers?: Record<string, string>
}

/** Milliseconds that an answer may take. */
const PATIENCE_MS = 30_000

/** Sends requests and keeps every answer. The token and headers go to the one server, and so do all writes. */
export class Client {
  readonly url: string
  /** Every answer so far. */
  readonly seen: Answer[] = []
  readonly #credentials: Record<string, string>

  constructor(options: ClientOptions) {
    this.url = options.url.replace(/\/$/, '')
    this.#credentials = credentialsOf(options)
  }

  /** Sends a request to a path below the service's URL, or to an absolute URL of the same origin. */
  async send(method: string, path: string, { query = '', body, headers = {} }: SendOptions = {}): Promise<Answer> {
    const url = this.#resolve(path, query)
    const isOurs = new URL(url).origin === new URL(this.url).origin
    applies(isOurs || method === 'GET', `a link leads to another server: ${url}`)
    const at = `${method} ${url.slice(new URL(url).origin.length)}`
    const request = {
      method,
      redirect: 'manual' as const,
      signal: AbortSignal.timeout(PATIENCE_MS),
      headers: {
        accept: MEDIA_TYPE,
        ...(isOurs && this.#credentials),
        ...(body !== undefined && { 'content-type': MEDIA_TYPE }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }
    const answer = await fetch(url, request)
      .then((response) => readAnswer(response, { method, url, at, sent: body }))
      .catch((cause: unknown) => noAnswer(at, cause))
    this.seen.push(answer)
    return answer
  }

  get(path: string, query: SendOptions['query'] = '', headers: Record<string, string> = {}): Promise<Answer> {
    return this.send('GET', path, { query, headers })
  }

  /** Reads what a link leads to. */
  follow(link: Json | undefined): Promise<Answer> {
    return this.get(new URL(urlOf(link), this.url).href)
  }

  #resolve(path: string, query: SendOptions['query']): string {
    const search = typeof query === 'string' ? query : new URLSearchParams(query).toString()
    const base = /^https?:/.test(path) ? path : this.url + path
    return search ? `${base}${base.includes('?') ? '&' : '?'}${search}` : base
  }
}

/** Credentials of a client for the server. */
export const credentialsOf = ({ token, headers }: ClientOptions): Record<string, string> => ({
  ...(token && { authorization: `Bearer ${token}` }),
  ...headers,
})

function noAnswer(at: string, cause: unknown): never {
  const { message, code } = (cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause) as Error & {
    code?: string
  }
  throw new Failure([{ at, seen: `no answer: ${message || code}` }])
}

async function readAnswer(
  response: Response,
  request: Pick<Answer, 'method' | 'url' | 'at' | 'sent'>,
): Promise<Answer> {
  const written = await response.text()
  const body = parse(written)
  return {
    ...request,
    status: response.status,
    headers: response.headers,
    text: written,
    body,
    document: object(body),
    isLinkage: /\/relationships\/[^/?]+(\?|$)/.test(request.url),
  }
}

function parse(written: string): Json | undefined {
  try {
    return JSON.parse(written) as Json
  } catch {
    return undefined
  }
}
