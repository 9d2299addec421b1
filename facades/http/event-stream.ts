import { once } from 'node:events'
import type { FastifyReply } from 'fastify'
import type { Api } from '../../routers/index.ts'
import { failureOf } from './failure.ts'

type StreamPart = Awaited<ReturnType<Api['ai']['stream']>> extends AsyncGenerator<infer Part> ? Part : never

interface EventStreamOptions {
  /** Already read, so that a failure before it could still be an ordinary answer. */
  first: IteratorResult<StreamPart, void>
  parts: AsyncGenerator<StreamPart, void>
  /** In milliseconds. */
  heartbeat: number
  requestId: string
}

/** Sends the parts of an answer as server-sent events: `delta`, `usage`, then `done` or `error`. */
export async function eventStream(
  reply: FastifyReply,
  { first, parts, heartbeat, requestId }: EventStreamOptions,
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
  const heartbeatTimer = setInterval(() => raw.writableNeedDrain || raw.write(': still here\n\n'), heartbeat)
  const closed = closing(reply)
  try {
    for (let step = first; !step.done; step = await parts.next()) {
      const { type, ...data } = step.value
      out.write(eventOf(type, data))
      if (raw.writableNeedDrain) await once(raw, 'drain', { signal: closed })
    }
    out.write(eventOf('done', {}))
  } catch (thrown) {
    const { code, message } = failureOf(thrown)
    out.write(eventOf('error', { code, message, requestId }))
  } finally {
    clearInterval(heartbeatTimer)
    await parts.return()
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

const eventOf = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`

/** Without this, writing to a client that has disconnected would wait for ever. */
function closing({ raw }: FastifyReply): AbortSignal {
  const closed = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) closed.abort()
  })
  if (raw.destroyed) closed.abort()
  return closed.signal
}
