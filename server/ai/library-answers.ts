import { AsyncLocalStorage } from 'node:async_hooks'
import type { UnderlyingSource } from 'node:stream/web'
import { createParser } from 'eventsource-parser'
import { fetchBy, type HttpClient } from '../net/http-client.ts'
import { openAnswer, readAnswer } from './answers.ts'
import { noStream, UnreadAnswer, unread } from './failures/unread.ts'

interface Asked {
  readonly isForStream: boolean
  isAnswered: boolean
  /** The data of the first event of a stream, of which a library may not say why it cannot read it. */
  firstEvent?: string
}

const asking = new AsyncLocalStorage<Asked>()

/** `fetch` for a library. Throws what is no answer, so that it reads none, and notes any other for whoever asks by it. */
export function answerFetch(connection: Pick<HttpClient, 'read' | 'send'>): HttpClient['fetch'] {
  const read = fetchBy((url, request) => readAnswer(connection, url, request))
  const open = fetchBy((url, request) => openAnswer(connection, url, request))
  return async (input, init) => {
    const asked = asking.getStore()
    const answer = asked?.isForStream ? await eventsOf(await open(input, init), asked) : await read(input, init)
    if (asked) asked.isAnswered = true
    return answer
  }
}

/** Reads on until the first event is whole: libraries say nothing before it. Throws what has none, with as much of it as comes. */
async function eventsOf(answer: Response, asked: Asked): Promise<Response> {
  if (!answer.body) return answer
  const reader = answer.body.getReader()
  const decoder = new TextDecoder()
  const chunks: Uint8Array[] = []
  let before = ''
  const parser = createParser({ onEvent: ({ data }) => (asked.firstEvent ??= data) })
  const next = () =>
    reader.read().catch((error: unknown) => {
      throw unread(error, before)
    })
  for (let step = await next(); !step.done; step = await next()) {
    const text = decoder.decode(step.value, { stream: true })
    chunks.push(step.value)
    before += text
    parser.feed(text)
    if (asked.firstEvent !== undefined) return new Response(continued(chunks, reader), answer)
  }
  throw noStream(before)
}

/** What was read of a stream, and then the rest as it is asked for. */
function continued(chunks: readonly Uint8Array[], rest: ReadableStreamDefaultReader<Uint8Array>) {
  const source: UnderlyingSource<Uint8Array> = {
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
    },
    async pull(controller) {
      const { done, value } = await rest.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => rest.cancel(reason),
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}

/** Asks by a library, which neither says whether an answer came nor throws its errors in one way. */
export async function readingAnswer<T>(ask: () => Promise<T>, isForStream = false): Promise<T> {
  const asked: Asked = { isForStream, isAnswered: false }
  try {
    return await asking.run(asked, ask)
  } catch (error) {
    // The AI SDK wraps what looks like a failure to connect.
    const { cause } = (error ?? {}) as Error
    if (cause instanceof UnreadAnswer) throw cause
    throw asked.isAnswered ? unread(error, asked.firstEvent) : error
  }
}
