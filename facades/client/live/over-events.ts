import { eventsOf, type ServerSentEvent } from './server-sent.ts'
import { assertMayReturn, call, type Failure, type Service } from './service.ts'
import { type Listener, retryDelay as patiently, pause, StreamEnded, type Transport } from './transport.ts'

/** How long to wait for the first event, in milliseconds; from then on the service says. */
const FIRST_EVENT_MS = 60_000

/** Listens by server-sent events, to `rooms.changes` or `users.changes`. `after` is where to begin; without it from now on. */
export function overEvents(
  service: Service,
  path: string,
  { input = {}, after, retryDelay = patiently }: { input?: object; after?: string; retryDelay?: typeof patiently } = {},
): Transport {
  return {
    listen(listener) {
      const stopped = new AbortController()
      const stream = new EventConnection(service, path, input, listener)
      stream.last = after
      void stream.keepOpen(retryDelay, stopped.signal)
      return () => stopped.abort()
    },
  }
}

class EventConnection {
  /** The id of the last event, behind which the next connection begins. */
  last: string | undefined
  readonly #service: Service
  readonly #path: string
  readonly #input: object
  readonly #listener: Listener
  #attempt = 0
  #patience = FIRST_EVENT_MS

  constructor(service: Service, path: string, input: object, listener: Listener) {
    this.#service = service
    this.#path = path
    this.#input = input
    this.#listener = listener
  }

  async keepOpen(retryDelay: (attempt: number) => number, stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      try {
        await this.#read(stopped)
      } catch (error) {
        if (stopped.aborted) return
        if (error instanceof StreamEnded) return this.#listener.ended(error)
      }
      this.#attempt += 1
      await pause(retryDelay(this.#attempt), stopped)
    }
  }

  /** Reads one connection to its end, which it has, too, where nothing is heard for too long. */
  async #read(stopped: AbortSignal): Promise<void> {
    const closing = new AbortController()
    const close = () => closing.abort()
    let timer = setTimeout(close, this.#patience)
    stopped.addEventListener('abort', close)
    try {
      for await (const event of await this.#open(closing.signal)) {
        clearTimeout(timer)
        timer = setTimeout(close, this.#patience)
        this.#take(event)
      }
    } finally {
      clearTimeout(timer)
      stopped.removeEventListener('abort', close)
      close()
    }
  }

  async #open(signal: AbortSignal): Promise<AsyncGenerator<ServerSentEvent>> {
    const begin = this.last === undefined ? {} : { 'last-event-id': this.last }
    const headers = { accept: 'text/event-stream', ...begin }
    const response = await call(this.#service, this.#path, { input: this.#input, signal, headers })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    if (response.ok && isStream && response.body) return eventsOf(response.body)
    const body = (await response.json().catch(() => ({}))) as { error?: { data: Failure } }
    assertMayReturn(body.error?.data ?? { httpStatus: response.status })
    throw new Error(`The stream could not be opened: ${response.status}`)
  }

  #take({ event, data, id }: ServerSentEvent): void {
    if (event === 'connected') this.#patience = JSON.parse(data).reconnectAfterInactivityMs ?? this.#patience
    if (event === 'serialized-error') this.#refused(JSON.parse(data).data)
    if (event !== 'message' || !id) return
    this.#attempt = 0
    this.last = id
    const { type, ...change } = JSON.parse(data)
    if (type === 'position') this.#listener.subscribed(id)
    if (type === 'change') this.#listener.changed(id, change)
  }

  #refused(failure: Failure): void {
    // Whoever listens is told the new position, and finds out that what was in between is lost.
    if (failure.problem === 'position_too_old') this.last = undefined
    else assertMayReturn(failure)
  }
}
