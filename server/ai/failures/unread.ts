import { AsyncLocalStorage } from 'node:async_hooks'
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
  if (asked?.isForStream && answer.headers.get('content-type')?.includes('json')) return noteEvents(asked, answer)
  if (asked) asked.isAnswered = true
  return answer
}

async function noteEvents(asked: Asked, answer: Response): Promise<Response> {
  const body = await answer.text()
  if (/^\s*[[{]/.test(body)) throw noStream(body)
  asked.isAnswered = true
  return new Response(body, answer)
}

/** Asks by a library, which neither says whether an answer came nor throws its errors in one way. */
export async function readingAnswer<T>(ask: () => Promise<T>, isForStream = false): Promise<T> {
  const asked = { isForStream, isAnswered: false }
  try {
    return await asking.run(asked, ask)
  } catch (error) {
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
