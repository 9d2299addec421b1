import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'

export interface ResponseHead {
  statusCode: number
  headers: IncomingHttpHeaders
}

/** The phase in which a request failed: `sending` where its own body could not be read; the response begins with its headers. */
export type Phase = 'connecting' | 'sending' | 'waiting' | 'reading'

/** Searches the whole chain of causes. */
export function findPhase(error: unknown): Phase | undefined {
  const { phase, cause } = (error ?? {}) as { phase?: Phase; cause?: unknown }
  return phase ?? (cause ? findPhase(cause) : undefined)
}

/**
 * One request and its answer, directly on undici's dispatcher: the objects that undici's `request` makes for each call stay in
 * memory until a full collection, which takes a quarter more memory at the peak.
 */
export abstract class Exchange<Answer> implements Dispatcher.DispatchHandler {
  protected readonly settled = Promise.withResolvers<Answer>()
  readonly #over = Promise.withResolvers<void>()
  readonly #signal: AbortSignal | null
  #controller: Dispatcher.DispatchController | undefined
  #isAnswered = false

  constructor(signal: AbortSignal | null) {
    this.#signal = signal
    signal?.addEventListener('abort', this.#abort)
  }

  get answer(): Promise<Answer> {
    return this.settled.promise
  }

  /** Resolves when the request has ended, in whichever way. */
  get over(): Promise<void> {
    return this.#over.promise
  }

  /** The headers have come. */
  protected abstract begin(controller: Dispatcher.DispatchController, head: ResponseHead): void

  abstract onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void

  /** All of the answer has come. */
  protected abstract end(): void

  /** No more comes of an answer that may have begun. */
  protected breakOff(error: Error): void {
    this.settled.reject(error)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#signal?.aborted) this.#abort()
  }

  onResponseStart(controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    // An informational response (1xx): the final one follows.
    if (statusCode < 200) return
    this.#isAnswered = true
    this.begin(controller, { statusCode, headers })
  }

  onResponseEnd(): void {
    this.#release()
    this.end()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#release()
    this.breakOff(this.#marked(error))
  }

  /** A caller who goes away says nothing about the server, nor does a body that cannot be read. */
  #marked(error: Error): Error {
    if (error.name === 'AbortError' || findPhase(error) === 'sending') return error
    const phase: Phase = this.#isAnswered ? 'reading' : this.#controller ? 'waiting' : 'connecting'
    return Object.assign(error, { phase })
  }

  readonly #abort = (): void => {
    const { reason } = this.#signal as AbortSignal
    if (!this.#isAnswered) this.settled.reject(this.#marked(reason))
    this.#controller?.abort(reason)
  }

  #release(): void {
    this.#over.resolve()
    this.#signal?.removeEventListener('abort', this.#abort)
  }
}
