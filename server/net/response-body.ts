import type { Readable } from 'node:stream'
import { MAX_REFUSAL_BYTES } from './response-handler.ts'

/** Ends a body that nobody reads on, whatever its state, and releases its connection. Never throws. */
export function leaveBody(body: Readable | ReadableStream | null | undefined): void {
  if (!body) return
  if ('destroy' in body) body.destroy()
  // A stream with a reader is that reader's to end.
  else void body.cancel().catch(() => {})
}

/** Yields the beginning of a body that explains an error, and leaves the rest: it is not worth the connection. */
export async function* readBeginning(body: Readable): AsyncGenerator<Uint8Array, void> {
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    yield chunk
    bytes += chunk.length
    if (bytes > MAX_REFUSAL_BYTES) return
  }
}

/**
 * Converts a body to a web stream. That of `Readable.toWeb` throws where nothing catches it if a body is canceled while it has
 * bytes, which libraries do wherever they leave a body.
 */
export function toWebStream(body: Readable): ReadableStream<Uint8Array> {
  let isOpen = true
  return new ReadableStream(
    {
      start(controller) {
        const end = (error?: Error) => {
          if (!isOpen) return
          isOpen = false
          if (error) controller.error(error)
          else controller.close()
        }
        body.on('error', end).once('end', () => end())
        body.once('close', () => end(new Error('the body was closed before its end')))
        body.on('data', (chunk: Uint8Array) => {
          if (!isOpen) return
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) body.pause()
        })
        body.pause()
      },
      pull: () => void body.resume(),
      cancel() {
        isOpen = false
        body.destroy()
      },
    },
    { highWaterMark: 0 },
  )
}
