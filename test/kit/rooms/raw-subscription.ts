import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream'
import { expect } from 'vitest'

interface SubscribeOptions {
  url: string
  /** Path of the subscription: `rooms.changes` or `users.changes`. */
  path: string
  input?: object
  token?: string
  headers?: Record<string, string>
}

/** A client that records the events of a subscription as they were sent. */
export class RawSubscription {
  readonly events: EventSourceMessage[] = []
  readonly status: number
  readonly ended: Promise<'closed' | 'broken'>
  readonly #going: AbortController

  private constructor(response: Response, going: AbortController) {
    this.status = response.status
    this.#going = going
    this.ended = this.#read(response.body as ReadableStream<Uint8Array>)
  }

  static async open({ url, path, input, token, headers = {} }: SubscribeOptions): Promise<RawSubscription> {
    const going = new AbortController()
    const query = input ? `?input=${encodeURIComponent(JSON.stringify(input))}` : ''
    const authorization = token && { authorization: `Bearer ${token}` }
    const response = await fetch(`${url}/trpc/${path}${query}`, {
      headers: { accept: 'text/event-stream', ...authorization, ...headers },
      signal: going.signal,
    })
    return new RawSubscription(response, going)
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<'closed' | 'broken'> {
    const decoded = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    try {
      for await (const event of decoded.pipeThrough(new EventSourceParserStream())) this.events.push(event)
      return 'closed'
    } catch {
      return 'broken'
    }
  }

  get messages(): Record<string, unknown>[] {
    return this.events.filter(({ event }) => event === undefined).map(({ data }) => JSON.parse(data))
  }

  get ids(): string[] {
    return this.events.flatMap(({ id }) => id || [])
  }

  get seqs(): number[] {
    return this.messages.flatMap(({ type, seq }) => (type === 'change' ? [Number(seq)] : []))
  }

  /** The error that ended the subscription. */
  get problem(): Record<string, unknown> | undefined {
    const refusal = this.events.find(({ event }) => event === 'serialized-error')
    return refusal && JSON.parse(refusal.data).data
  }

  /** Resolves with the position behind which everything is told. */
  async waitForPosition(): Promise<string> {
    await expect.poll(() => this.ids.length, { timeout: 60_000 }).toBeGreaterThan(0)
    return this.ids[0] ?? ''
  }

  async untilSeq(seq: number): Promise<void> {
    await expect.poll(() => this.seqs.at(-1), { timeout: 60_000 }).toBe(seq)
  }

  close(): void {
    this.#going.abort()
  }
}
