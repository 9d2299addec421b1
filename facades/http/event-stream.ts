import { once } from 'node:events'
import type { FastifyReply } from 'fastify'

/** How a face writes down what comes in a stream. */
export interface EventWriter<Part> {
  writePart(part: Part): string
  /** After the last part. */
  writeEnd(): string
  writeError(thrown: unknown): string
  /** Sent where there is nothing to say for a while; a comment where the face has no frame of its own. */
  keepAlive?: string
}

interface EventStreamOptions<Part> {
  /** A stream that its procedure has begun: a failure before its first part was an ordinary answer. */
  parts: AsyncGenerator<Part, void>
  writer: EventWriter<Part>
  /** In milliseconds. */
  heartbeat: number
}

/** Sends the parts of an answer as server-sent events, as a face writes them. */
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

/** Joins the events of one turn of the event loop into one write, because a write costs more than the text in it. */
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

/** Without this, writing to a client that has disconnected would wait for ever. */
function createCloseSignal({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) closed.abort()
  })
  if (raw.destroyed) closed.abort()
  return closed.signal
}
