import { AsyncLocalStorage } from 'node:async_hooks'
import type { UnderlyingSource } from 'node:stream/web'
import { parsed } from '../../../routers/ports/ai/tool-calls.ts'
import type { Phase } from '../../net/exchange.ts'
import { refusalOfWhole, type ToldRefusal } from './told-refusal.ts'

interface Asked {
  readonly isForStream: boolean
  isAnswered: boolean
}

const asking = new AsyncLocalStorage<Asked>()

/** Notes for whoever reads it that an answer came. Throws a document in place of a stream, of which a library would read nothing. */
export async function noteAnswer(answer: Response): Promise<Response> {
  const asked = asking.getStore()
  const isJudged = asked?.isForStream && answer.body !== null
  const noted = isJudged ? new Response(await eventsOf(answer.body), answer) : answer
  if (asked) asked.isAnswered = true
  return noted
}

/** What may come before a document or an event: white space, and the mark of UTF-8. */
const blank = new Set(Buffer.from(' \t\r\n\ufeff'))
const brackets = new Set(Buffer.from('{['))

/** Reads on until it is clear that this is no document. Throws one, with as much of it as comes. */
async function eventsOf(body: ReadableStream<Uint8Array>): Promise<ReadableStream<Uint8Array>> {
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let first: number | undefined
  const text = () => new TextDecoder().decode(Buffer.concat(chunks))
  try {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      chunks.push(step.value)
      first ??= step.value.find((byte) => !blank.has(byte))
      if (first !== undefined && !brackets.has(first)) break
    }
  } catch (error) {
    throw unread(error, text())
  }
  if (first !== undefined && brackets.has(first)) throw noStream(text())
  return continued(chunks, reader)
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
  const asked = { isForStream, isAnswered: false }
  try {
    return await asking.run(asked, ask)
  } catch (error) {
    // The AI SDK wraps what looks like a failure to connect.
    const { cause } = (error ?? {}) as Error
    if (cause instanceof UnreadAnswer) throw cause
    throw asked.isAnswered ? unread(error) : error
  }
}

/** What is thrown where an answer cannot be read: the refusal that it is, or that it is none. */
export function unread(cause: unknown, body?: string): ToldRefusal | UnreadAnswer {
  const answer = new UnreadAnswer(cause, body)
  const { responseBody } = answer
  return refusalOfWhole(typeof responseBody === 'string' ? parsed(responseBody) : responseBody) ?? answer
}

/** The same where this came in place of a stream, without any event. */
export const noStream = (body: string) => unread(new Error('the stream ended early'), body)

/**
 * An answer that has come and cannot be read. It is paid, so the call fails like one whose answer broke off. What was caught
 * is its cause and stays as it is: calls may share it, as all have one reason for a caller who goes away.
 */
export class UnreadAnswer extends Error {
  readonly phase: Phase = 'reading'
  /** The kind of the cause, which is logged. */
  readonly code: unknown
  /** The part that came; the AI SDK has it in its errors by the same name. */
  readonly responseBody: unknown

  constructor(cause: unknown, body?: string) {
    super('the answer cannot be read', { cause })
    const { name, code, responseBody } = (cause ?? {}) as Partial<UnreadAnswer>
    this.name = name ?? 'UnreadAnswer'
    this.code = code
    this.responseBody = body ?? responseBody
  }
}
