import { once } from 'node:events'
import type { FastifyReply } from 'fastify'

/** How a face writes down what comes in a stream. */
export interface Frames<Part> {
  part(part: Part): string
  /** After the last part. */
  done(): string
  failed(thrown: unknown): string
  /** Sent where there is nothing to say for a while; a comment where the face has no frame of its own. */
  silence?: string
}

interface EventStreamOptions<Part> {
  /** A stream that its procedure has begun: a failure before its first part was an ordinary answer. */
  parts: AsyncGenerator<Part, void>
  frames: Frames<Part>
  /** In milliseconds. */
  heartbeat: number
}

/** Sends the parts of an answer as server-sent events, as a face writes them. */
export async function eventStream<Part>(
  reply: FastifyReply,
  { parts, frames, heartbeat }: EventStreamOptions<Part>,
): Promise<FastifyReply> {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  })
  const out = bufferedWriter(raw)
  const heartbeatTimer = setInterval(
    () => raw.writableNeedDrain || raw.write(frames.silence ?? ': still here\n\n'),
    heartbeat,
  )
  const closed = closing(reply)
  try {
    for await (const part of parts) {
      out.write(frames.part(part))
      if (raw.writableNeedDrain) await once(raw, 'drain', { signal: closed })
    }
    out.write(frames.done())
  } catch (thrown) {
    out.write(frames.failed(thrown))
  } finally {
    clearInterval(heartbeatTimer)
    out.end()
  }
  return reply
}

/** Joins the events of one turn of the event loop into one write, because a write costs more than the text in it. */
function bufferedWriter(raw: FastifyReply['raw']) {
  let waiting = ''
  const flush = () => {
    if (waiting) raw.write(waiting)
    waiting = ''
  }
  return {
    write(text: string) {
      if (!waiting) setImmediate(flush)
      waiting += text
    },
    end() {
      raw.end(waiting)
      waiting = ''
    },
  }
}

/** Without this, writing to a client that has disconnected would wait for ever. */
function closing({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) closed.abort()
  })
  if (raw.destroyed) closed.abort()
  return closed.signal
}
