import { setImmediate } from 'node:timers/promises'

const PIECE = new Uint8Array(64 * 1024).fill(32)

/** Four times as many bytes as the service discards of a body that it refuses. */
const SIZE = 256 * 1024 * 1024

/**
 * Creates a body whose length is not announced. It pauses before each piece, and it ends: `fetch` takes pieces even after
 * its connection has closed, and with a source that never pauses it would do nothing else until memory is full.
 */
export function createHugeBody(): ReadableStream<Uint8Array> {
  let bytes = 0
  return new ReadableStream({
    async pull(controller) {
      await setImmediate()
      if (bytes >= SIZE) return controller.close()
      controller.enqueue(PIECE)
      bytes += PIECE.length
    },
  })
}
