import { once } from 'node:events'
import type { FastifyReply } from 'fastify'

/** Writes the events of a stream in the format of a face. */
export interface EventWriter<Part> {
  writePart(part: Part): string
  /** Writes the end of the stream. */
  writeEnd(): string
  writeError(thrown: unknown): string
  /** Sent while the stream is silent; a comment by default. */
  keepAlive?: string
}

interface EventStreamOptions<Part> {
  /** The running stream; a failure before its first part is an ordinary error response. */
  parts: AsyncGenerator<Part, void>
  writer: EventWriter<Part>
  /** Milliseconds between two keep-alive frames. */
  heartbeat: number
}

/** Sends a stream as server-sent events in the format of a face. */
export async function sendEventStream<Part>(
  reply: FastifyReply,
  { parts, writer, heartbeat }: EventStreamOptions<Part>,
): Promise<FastifyReply> {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  })
  const out = createBufferedWriter(raw)
  const heartbeatTimer = setInterval(
    () => raw.writableNeedDrain || raw.write(writer.keepAlive ?? ': still here\n\n'),
    heartbeat,
  )
  const closed = createCloseSignal(reply)
  try {
    for await (const part of parts) {
      out.write(writer.writePart(part))
      if (raw.writableNeedDrain) await once(raw, 'drain', { signal: closed })
    }
    out.write(writer.writeEnd())
  } catch (thrown) {
    out.write(writer.writeError(thrown))
  } finally {
    clearInterval(heartbeatTimer)
    out.end()
  }
  return reply
}

/** Joins the events of one turn of the event loop into one write, because writes are expensive. */
function createBufferedWriter(raw: FastifyReply['raw']) {
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

/** Creates a signal that aborts when the client disconnects; otherwise writing would wait for ever. */
function createCloseSignal({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) closed.abort()
  })
  if (raw.destroyed) closed.abort()
  return closed.signal
}
