import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

/** What is read on of a refused body at most, in bytes and milliseconds, and how long its client may pause. */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_MS = 10_000
const MAX_PAUSE_MS = 1000

/**
 * Reads a body that nobody has read to its end before its request is answered. A connection that closes after an answer, as
 * after every refusal of a body and in HTTP/1.0, resets while its client still sends, and the answer is lost with it.
 */
export function readUnreadBodies(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, _, done) => {
    if (!isUnread(request.raw)) return done()
    discard(request.raw).then((isWhole) => {
      if (!isWhole) reply.header('connection', 'close')
      done()
    }, done)
  })
}

/** What has been received as a whole waits in the memory of this process, and closes no connection early. */
const isUnread = ({ headers, complete, destroyed }: IncomingMessage): boolean =>
  !complete && !destroyed && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/** Lets a body pass by; returns whether that was all of it. */
async function discard(body: IncomingMessage): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  let bytes = 0
  const giveUp = () => resolve(false)
  const limit = setTimeout(giveUp, MAX_MS)
  const pause = setTimeout(giveUp, MAX_PAUSE_MS)
  const count = (chunk: Uint8Array | string) => {
    bytes += chunk.length
    pause.refresh()
    if (bytes > MAX_BYTES) giveUp()
  }
  const finish = () => resolve(true)
  body.unpipe()
  body.on('data', count).once('end', finish).once('close', giveUp).resume()
  try {
    return await promise
  } finally {
    clearTimeout(limit)
    clearTimeout(pause)
    body.off('data', count).off('end', finish).off('close', giveUp)
  }
}
