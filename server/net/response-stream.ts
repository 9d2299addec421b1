import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { Exchange, type ResponseHead } from './exchange.ts'

export interface HttpResponse extends ResponseHead {
  body: Readable
}

/** A request whose answer is read as it comes. It is there when its headers are. */
export class ResponseStream extends Exchange<HttpResponse> {
  #body: Readable | undefined

  protected begin(controller: Dispatcher.DispatchController, head: ResponseHead): void {
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
    this.settled.resolve({ ...head, body: this.#body })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#body?.push(chunk)) controller.pause()
  }

  protected end(): void {
    this.#body?.push(null)
  }

  protected override breakOff(error: Error): void {
    super.breakOff(error)
    this.#body?.destroy(error)
  }
}
