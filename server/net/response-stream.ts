import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'

export interface HttpResponse {
  statusCode: number
  headers: IncomingHttpHeaders
  body: Readable
}

/** The phase in which a request failed; the response begins with its headers. */
export type Phase = 'connecting' | 'waiting' | 'reading'

/** Searches the whole chain of causes. */
export function phaseOf(error: unknown): Phase | undefined {
  const { phase, cause } = (error ?? {}) as { phase?: Phase; cause?: unknown }
  return phase ?? (cause ? phaseOf(cause) : undefined)
}

/**
 * A request and its answer, straight on the dispatcher: what its `request` makes for each call stays in memory until the
 * old heap is collected, and takes a quarter more at the peak.
 */
export class ResponseStream implements Dispatcher.DispatchHandler {
  readonly #answer = Promise.withResolvers<HttpResponse>()
  readonly #over = Promise.withResolvers<void>()
  readonly #signal: AbortSignal | null
  #controller: Dispatcher.DispatchController | undefined
  #body: Readable | undefined

  constructor(signal: AbortSignal | null) {
    this.#signal = signal
    signal?.addEventListener('abort', this.#abort)
  }

  /** Resolves when the headers arrive; the body is read afterwards. */
  get answer(): Promise<HttpResponse> {
    return this.#answer.promise
  }

  /** Resolves when the request has ended, in whichever way. */
  get over(): Promise<void> {
    return this.#over.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal?.aborted) this.#abort()
  }

  onResponseStart(controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    // An informational response (1xx): the final one follows.
    if (statusCode < 200) return
    this.#body = new Readable({
      read: () => controller.resume(),
      destroy(error, done) {
        // A reader who stops early releases the connection.
        if (!this.readableEnded) controller.abort(error ?? new DOMException('Nobody reads on.', 'AbortError'))
        done(error)
      },
    })
    // The reader gets the error. Without a reader, the rejection must not end the process.
    this.#body.on('error', () => {})
    this.#answer.resolve({ statusCode, headers, body: this.#body })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#body?.push(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    this.#release()
    this.#body?.push(null)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#release()
    this.#answer.reject(this.#marked(error))
    this.#body?.destroy(error)
  }

  /** A caller who goes away says nothing about the server. */
  #marked(error: Error): Error {
    if (error.name === 'AbortError') return error
    const phase: Phase = this.#body ? 'reading' : this.#controller ? 'waiting' : 'connecting'
    return Object.assign(error, { phase })
  }

  readonly #abort = (): void => {
    const { reason } = this.#signal as AbortSignal
    this.#answer.reject(this.#marked(reason))
    this.#controller?.abort(reason)
  }

  #release(): void {
    this.#over.resolve()
    this.#signal?.removeEventListener('abort', this.#abort)
  }
}
