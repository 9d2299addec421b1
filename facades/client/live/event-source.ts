import { assertRetryable, call, type Failure, readFailure, type Service, timeoutOf } from './service.ts'
import { type Change, retryDelay as defaultRetryDelay, type PassingEvent, pause, StreamEnded } from './transport.ts'

/** An event of a subscription; its id is the position to resume from. */
export interface SubscriptionEvent {
  id: string
  data: { type: 'position'; position: string } | ({ type: 'change' } & Change) | ({ type: 'passing' } & PassingEvent)
}

interface SubscriptionOptions {
  input: object
  /** The position to begin after; without it the stream begins now. */
  after?: string | undefined
  /** Ends the stream if the position is too old; otherwise it restarts at the next reported position. */
  endsWhereTooOld?: boolean
  retryDelay?: typeof defaultRetryDelay
  signal: AbortSignal
}

/** Reads a subscription by server-sent events, and reconnects after the last event. */
export async function* subscribeToEvents(
  service: Service,
  path: string,
  options: SubscriptionOptions,
): AsyncGenerator<SubscriptionEvent, void> {
  const { retryDelay = defaultRetryDelay, signal } = options
  const connection = new EventConnection(service, path, options)
  while (!signal.aborted) {
    try {
      yield* connection.read(signal)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof StreamEnded) throw error
    }
    connection.attempt += 1
    await pause(retryDelay(connection.attempt), signal)
  }
}

class EventConnection {
  attempt = 0
  /** The id of the last event. */
  #lastId: string | undefined
  /** Milliseconds to wait for an event; the first event sets it. */
  #timeoutMs: number
  readonly #service: Service
  readonly #path: string
  readonly #options: SubscriptionOptions

  constructor(service: Service, path: string, options: SubscriptionOptions) {
    this.#service = service
    this.#path = path
    this.#options = options
    this.#lastId = options.after
    this.#timeoutMs = timeoutOf(service)
  }

  /** Reads one connection until it ends, or until no event arrives in time. */
  async *read(stopped: AbortSignal): AsyncGenerator<SubscriptionEvent, void> {
    const closing = new AbortController()
    const close = () => closing.abort()
    let timer = setTimeout(close, this.#timeoutMs)
    stopped.addEventListener('abort', close)
    try {
      for await (const message of await this.#open(closing.signal)) {
        clearTimeout(timer)
        const event = this.#readEvent(message)
        if (event) yield event
        timer = setTimeout(close, this.#timeoutMs)
      }
    } finally {
      clearTimeout(timer)
      stopped.removeEventListener('abort', close)
      close()
    }
  }

  async #open(signal: AbortSignal): Promise<AsyncGenerator<ServerSentEvent>> {
    const begin = this.#lastId === undefined ? {} : { 'last-event-id': this.#lastId }
    const headers = { accept: 'text/event-stream', ...begin }
    const response = await call(this.#service, this.#path, { input: this.#options.input, signal, headers })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    if (response.ok && isStream && response.body) return readEvents(response.body)
    assertRetryable(await readFailure(response))
    throw new Error(`The stream could not be opened: ${response.status}`)
  }

  #readEvent({ event, data, id }: ServerSentEvent): SubscriptionEvent | undefined {
    if (event === 'connected') this.#timeoutMs = JSON.parse(data).reconnectAfterInactivityMs ?? this.#timeoutMs
    if (event === 'serialized-error') this.#handleRefusal(JSON.parse(data))
    if (event !== 'message' || !id) return undefined
    this.attempt = 0
    this.#lastId = id
    return { id, data: JSON.parse(data) }
  }

  #handleRefusal({ message, data }: { message: string; data: Failure }): void {
    const isTooOld = data.problem === 'position_too_old'
    if (isTooOld && !this.#options.endsWhereTooOld) this.#lastId = undefined
    else assertRetryable({ ...data, message })
  }
}

interface ServerSentEvent {
  event: string
  data: string
  id: string | undefined
}

const MAX_EVENT = 1024 * 1024

/** Parses the events of a response. */
async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent, void> {
  let rest = ''
  for await (const text of readTexts(body)) {
    const blocks = (rest + text).split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    if (rest.length > MAX_EVENT) throw new Error('An event is too large.')
    for (const block of blocks) if (block.trim()) yield parseEvent(block.trim())
  }
}

/** Reads the body by a reader, because not every browser can iterate over it. */
async function* readTexts(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function parseEvent(block: string): ServerSentEvent {
  const found: ServerSentEvent = { event: 'message', data: '', id: undefined }
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ''] = /^(\w*):? ?(.*)$/.exec(line) ?? []
    if (name === 'event' || name === 'id') found[name] = value
    if (name === 'data') found.data += found.data ? `\n${value}` : value
  }
  return found
}
