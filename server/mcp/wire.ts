import { setTimeout as pause } from 'node:timers/promises'
import type { ToolServer } from '../../routers/ports/ai/tool-servers.ts'

interface SentCall {
  url: string
  headers: RequestInit['headers'] | undefined
  id: unknown
}

/** The requests of one session, all of which end with it. */
export class Wire {
  readonly #fetch: typeof globalThis.fetch
  readonly #listens: boolean
  readonly #ended = new AbortController()
  #call: SentCall | undefined

  constructor(fetch: typeof globalThis.fetch, transport: ToolServer['transport']) {
    this.#fetch = fetch
    this.#listens = transport === 'sse'
  }

  readonly fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const { method = 'GET', body, headers, signal } = init
    // Nothing that a server says unasked is taken, so there is no stream of it.
    if (method === 'GET' && !this.#listens) return new Response(null, { status: 405 })
    this.#noteCall(String(input), { body, headers })
    const signals = signal ? [signal, this.#ended.signal] : [this.#ended.signal]
    return this.#fetch(input, { ...init, signal: AbortSignal.any(signals) })
  }

  #noteCall(url: string, { body, headers }: { body: unknown; headers: SentCall['headers'] }): void {
    if (typeof body !== 'string' || !body.includes('"tools/call"')) return
    this.#call = { url, headers, id: (JSON.parse(body) as { id?: unknown }).id }
  }

  /** Revisions with sessions take a closed connection for a broken one: that a call is over must be said. */
  async cancelCall(): Promise<void> {
    if (!this.#call) return
    const { url, headers, id } = this.#call
    const params = { requestId: id, reason: 'The caller went away.' }
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    const init = { method: 'POST', body, signal: this.#ended.signal, ...(headers && { headers }) }
    // A server that cannot be told has lost the connection anyway.
    const response = await this.#fetch(url, init).catch(() => undefined)
    await response?.body?.cancel()
  }

  /** Ends what is still under way once the session is closed, or the time for that is up. */
  async close(closing: Promise<void>, ms: number): Promise<void> {
    await Promise.race([closing, pause(ms, undefined, { ref: false })]).catch(() => {})
    this.#ended.abort()
  }
}
