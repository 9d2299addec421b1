import { once } from 'node:events'
import type { FastifyReply } from 'fastify'
import { logServerFailure, toFailure } from './failure.ts'

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
  /** Aborts when the client disconnects; otherwise writing would wait for ever. */
  signal: AbortSignal
}

/** Sends a stream as server-sent events in the format of a face. */
export async function sendEventStream<Part>(
  reply: FastifyReply,
  { parts, writer, heartbeat, signal }: EventStreamOptions<Part>,
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
  try {
    for await (const part of parts) {
      out.write(writer.writePart(part))
      if (raw.writableNeedDrain) await once(raw, 'drain', { signal })
    }
    out.write(writer.writeEnd())
  } catch (thrown) {
    if (!signal.aborted) logServerFailure(toFailure(thrown), reply.log)
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
