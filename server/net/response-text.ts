import type { Dispatcher } from 'undici'
import { Exchange, type ResponseHead } from './exchange.ts'

/** Of an answer with a status that refuses: longer than any says why. */
export const MAX_REFUSAL_BYTES = 64 * 1024

export interface TextResponse extends ResponseHead {
  /** All of it, or as much as came before the error. */
  text: string
  error?: Error
}

/**
 * Hears each piece of a text as it comes. Where all of the text has come, it returns how long more of it is waited for, in
 * milliseconds: some servers keep a connection open for long.
 */
export type EndWatch = (piece: string) => number | undefined

/** A request whose answer is there when no more of it comes. */
export class ResponseText extends Exchange<TextResponse> {
  readonly #watch: EndWatch | undefined
  readonly #decoder = new TextDecoder()
  #text = ''
  #bytes = 0
  #head: ResponseHead | undefined
  #silence: NodeJS.Timeout | undefined
  #isWhole = false

  constructor(signal: AbortSignal | null, watch?: EndWatch) {
    super(signal)
    this.#watch = watch
  }

  protected begin(_: Dispatcher.DispatchController, head: ResponseHead): void {
    this.#head = head
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const piece = this.#decoder.decode(chunk, { stream: true })
    this.#text += piece
    this.#bytes += chunk.length
    const isRefusal = (this.#head?.statusCode ?? 0) >= 300
    if (isRefusal && this.#bytes > MAX_REFUSAL_BYTES) controller.abort(new Error('the refusal is too long'))
    this.#awaitMore(controller, this.#watch?.(piece))
  }

  #awaitMore(controller: Dispatcher.DispatchController, wait: number | undefined): void {
    clearTimeout(this.#silence)
    this.#isWhole = wait !== undefined
    if (wait === undefined || wait === Infinity) return
    this.#silence = setTimeout(() => controller.abort(new Error('the text is over')), wait)
  }

  protected end(error?: Error): void {
    clearTimeout(this.#silence)
    const text = this.#text + this.#decoder.decode()
    if (this.#head) this.settled.resolve({ ...this.#head, text, ...(error && { error }) })
  }

  protected override breakOff(error: Error): void {
    if (this.#head) this.end(this.#isWhole ? undefined : error)
    else super.breakOff(error)
  }
}
