import type { Dispatcher } from 'undici'
import { Exchange, type ResponseHead } from './exchange.ts'

/** Of an answer with a status that refuses: longer than any says why. */
export const MAX_REFUSAL_BYTES = 64 * 1024

export interface TextResponse extends ResponseHead {
  /** All of it, or as much as came before the error. */
  text: string
  error?: Error
}

/** A request whose answer is there when no more of it comes. */
export class ResponseText extends Exchange<TextResponse> {
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #head: ResponseHead | undefined

  protected begin(_: Dispatcher.DispatchController, head: ResponseHead): void {
    this.#head = head
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    const isRefusal = (this.#head?.statusCode ?? 0) >= 300
    if (isRefusal && this.#bytes > MAX_REFUSAL_BYTES) controller.abort(new Error('the refusal is too long'))
  }

  protected end(error?: Error): void {
    const text = new TextDecoder().decode(Buffer.concat(this.#chunks))
    if (this.#head) this.settled.resolve({ ...this.#head, text, ...(error && { error }) })
  }

  protected override breakOff(error: Error): void {
    if (this.#head) this.end(error)
    else super.breakOff(error)
  }
}
