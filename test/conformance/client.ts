import { applies } from './check.ts'
import { type Json, type JsonObject, object } from './json.ts'
import { MEDIA_TYPE } from './openapi.ts'
import { urlOf } from './walk.ts'

export interface Answer {
  at: string
  method: string
  url: string
  status: number
  headers: Headers
  text: string
  /** What was sent, where that was a document. */
  sent: Json | undefined
  body: Json | undefined
  document: JsonObject
  /** Whether its primary data, if any, is linkage. */
  isLinkage: boolean
}

export interface SendOptions {
  query?: string | Record<string, string>
  body?: Json | undefined
  headers?: Record<string, string>
}

/** Sends requests and keeps every answer. The token goes to the one server, and so do all writes. */
export class Client {
  readonly url: string
  /** Every answer so far. */
  readonly seen: Answer[] = []
  readonly #token: string | undefined

  constructor(url: string, token: string | undefined) {
    this.url = url.replace(/\/$/, '')
    this.#token = token
  }

  /** Sends a request to a path below the service's URL, or to an absolute URL of the same origin. */
  async send(method: string, path: string, { query = '', body, headers = {} }: SendOptions = {}): Promise<Answer> {
    const url = this.#resolve(path, query)
    const isOurs = new URL(url).origin === new URL(this.url).origin
    applies(isOurs || method === 'GET', `a link leads to another server: ${url}`)
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        accept: MEDIA_TYPE,
        ...(this.#token && isOurs && { authorization: `Bearer ${this.#token}` }),
        ...(body !== undefined && { 'content-type': MEDIA_TYPE }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = await readAnswer(response, {
      method,
      url,
      at: `${method} ${url.slice(new URL(url).origin.length)}`,
      sent: body,
    })
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

async function readAnswer(response: Response, asked: Pick<Answer, 'method' | 'url' | 'at' | 'sent'>): Promise<Answer> {
  const written = await response.text()
  const body = parse(written)
  return {
    ...asked,
    status: response.status,
    headers: response.headers,
    text: written,
    body,
    document: object(body),
    isLinkage: /\/relationships\/[^/?]+(\?|$)/.test(asked.url),
  }
}

function parse(written: string): Json | undefined {
  try {
    return JSON.parse(written) as Json
  } catch {
    return undefined
  }
}
