import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'

export interface ResponseHead {
  statusCode: number
  headers: IncomingHttpHeaders
}

/** The phase in which a request failed: `sending` if its own body could not be read, `reading` after the response headers. */
export type Phase = 'connecting' | 'sending' | 'waiting' | 'reading'

/** Finds the phase of a failed request in the chain of an error's causes. */
export function findPhase(error: unknown): Phase | undefined {
  const { phase, cause } = (error ?? {}) as { phase?: Phase; cause?: unknown }
  return phase ?? (cause ? findPhase(cause) : undefined)
}

/**
 * Handles one response directly on undici's dispatcher. The objects that undici's `request` makes for each call stay in memory
 * until a full garbage collection, which takes a quarter more memory at the peak.
 */
export abstract class ResponseHandler<Result> implements Dispatcher.DispatchHandler {
  protected readonly settled = Promise.withResolvers<Result>()
  readonly #completed = Promise.withResolvers<void>()
  readonly #signal: AbortSignal | null
  #controller: Dispatcher.DispatchController | undefined
  #hasResponse = false

  constructor(signal: AbortSignal | null) {
    this.#signal = signal
    signal?.addEventListener('abort', this.#abort)
  }

  get response(): Promise<Result> {
    return this.settled.promise
  }

  /** Resolves when the request has ended, successfully or not. */
  get completed(): Promise<void> {
    return this.#completed.promise
  }

  /** Is called with the headers of the response. */
  protected abstract onHead(controller: Dispatcher.DispatchController, head: ResponseHead): void

  abstract onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void

  /** Is called after the whole response. */
  protected abstract onComplete(): void

  /** Is called when the request fails, before or during the response. */
  protected onFailure(error: Error): void {
    this.settled.reject(error)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal?.aborted) this.#abort()
  }

  onResponseStart(controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    // An informational response (1xx) is ignored: the final one follows.
    if (statusCode < 200) return
    this.#hasResponse = true
    this.onHead(controller, { statusCode, headers })
  }

  onResponseEnd(): void {
    this.#release()
    this.onComplete()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#release()
    this.onFailure(this.#addPhase(error))
  }

  /** Ends the request for an error in the handling of its response. */
  fail(error: unknown): void {
    const reason = error instanceof Error ? error : new Error('the call failed', { cause: error })
    this.settled.reject(reason)
    this.#controller?.abort(reason)
  }

  /** Adds the phase to an error of the server. An abort by the caller or an unreadable request body is no fault of the server. */
  #addPhase(error: Error): Error {
    // The caller's reason may be shared by other requests. Only a time limit blames the server.
    const isCallersReason = error === this.#signal?.reason && error.name !== 'TimeoutError'
    if (isCallersReason || error.name === 'AbortError' || findPhase(error) === 'sending') return error
    const phase: Phase = this.#hasResponse ? 'reading' : this.#controller ? 'waiting' : 'connecting'
    return Object.assign(error, { phase })
  }

  readonly #abort = (): void => {
    const { reason } = this.#signal as AbortSignal
    if (!this.#hasResponse) this.settled.reject(this.#addPhase(reason))
    this.#controller?.abort(reason)
  }

  #release(): void {
    this.#completed.resolve()
    this.#signal?.removeEventListener('abort', this.#abort)
  }
}

export interface HttpResponse extends ResponseHead {
  body: Readable
}

/** Handles a response whose body is a stream; `response` resolves with the headers. */
export class StreamResponseHandler extends ResponseHandler<HttpResponse> {
  #body: Readable | undefined

  protected onHead(controller: Dispatcher.DispatchController, head: ResponseHead): void {
    this.#body = new Readable({
      read: () => controller.resume(),
      destroy(error, done) {
        // A reader that stops early releases the connection.
        if (!this.readableEnded) controller.abort(error ?? new DOMException('Nobody reads on.', 'AbortError'))
        done(error)
      },
    })
    // The reader gets the error. Without a reader, an unhandled error must not end the process.
    this.#body.on('error', () => {})
    this.settled.resolve({ ...head, body: this.#body })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#body?.push(chunk)) controller.pause()
  }

  protected onComplete(): void {
    this.#body?.push(null)
  }

  protected override onFailure(error: Error): void {
    super.onFailure(error)
    this.#body?.destroy(error)
  }
}

/** Largest body of an error response, in bytes. */
export const MAX_REFUSAL_BYTES = 64 * 1024

export interface TextResponse extends ResponseHead {
  /** The whole text, or the part before the error. */
  text: string
  error?: Error
}

/**
 * Receives each piece of a text. Once the text is complete, it returns how many milliseconds to wait for more, because some
 * servers keep the connection open.
 */
export type EndDetector = (piece: string) => number | undefined

/** Handles a response that is text; `response` resolves with the whole text. */
export class TextResponseHandler extends ResponseHandler<TextResponse> {
  readonly #detectEnd: EndDetector | undefined
  readonly #decoder = new TextDecoder()
  #text = ''
  #bytes = 0
  #head: ResponseHead | undefined
  #endTimer: NodeJS.Timeout | undefined
  #isComplete = false

  constructor(signal: AbortSignal | null, detectEnd?: EndDetector) {
    super(signal)
    this.#detectEnd = detectEnd
  }

  protected onHead(_: Dispatcher.DispatchController, head: ResponseHead): void {
    this.#head = head
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const piece = this.#decoder.decode(chunk, { stream: true })
    this.#text += piece
    this.#bytes += chunk.length
    const isRefusal = (this.#head?.statusCode ?? 0) >= 300
    if (isRefusal && this.#bytes > MAX_REFUSAL_BYTES) controller.abort(new Error('the refusal is too long'))
    this.#scheduleEnd(controller, this.#detectEnd?.(piece))
  }

  #scheduleEnd(controller: Dispatcher.DispatchController, wait: number | undefined): void {
    clearTimeout(this.#endTimer)
    this.#isComplete = wait !== undefined
    if (wait === undefined || wait === Infinity) return
    this.#endTimer = setTimeout(() => controller.abort(new Error('the text is over')), wait)
  }

  protected onComplete(error?: Error): void {
    clearTimeout(this.#endTimer)
    const text = this.#text + this.#decoder.decode()
    if (this.#head) this.settled.resolve({ ...this.#head, text, ...(error && { error }) })
  }

  protected override onFailure(error: Error): void {
    if (this.#head) this.onComplete(this.#isComplete ? undefined : error)
    else super.onFailure(error)
  }
}
