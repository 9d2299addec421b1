import type { Dispatcher } from 'undici'
import { Exchange, type ResponseHead } from './exchange.ts'

/** Of an answer with a status that refuses: longer than any says why. */
export const MAX_REFUSAL_BYTES = 64 * 1024

export interface TextResponse extends ResponseHead {
  /** All of it, or as much as came before the error. */
  text: string
  error?: Error
}

/** Whether this is a stream of events, sent in place of a text, with its last event: its connection may stay open for long. */
function endsStream(chunks: readonly Buffer[]): boolean {
  const [first, last] = [chunks[0], chunks.at(-1)]
  if (!first || !last || !/^\s*[:a-z]/.test(first.subarray(0, 16).toString('latin1'))) return false
  const tail = Buffer.concat(chunks.slice(-2).map((chunk) => chunk.subarray(-256)))
  return /(^|\n)data: ?\[DONE\]\s*(\n|$)/.test(tail.toString('latin1'))
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
    if (endsStream(this.#chunks)) {
      this.end()
      controller.abort(new Error('the text is over'))
    }
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
