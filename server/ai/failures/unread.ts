import { AsyncLocalStorage } from 'node:async_hooks'
import { parsed } from '../../../routers/ports/ai/tool-calls.ts'
import type { Phase } from '../../net/exchange.ts'
import { refusalOfWhole, type ToldRefusal } from './told-refusal.ts'

const asking = new AsyncLocalStorage<{ isAnswered: boolean }>()

/** Notes for whoever reads it that an answer came. */
export function noteAnswer<T>(answer: T): T {
  const asked = asking.getStore()
  if (asked) asked.isAnswered = true
  return answer
}

/** Asks by a library, which neither says whether an answer came nor throws its errors in one way. */
export async function readingAnswer<T>(ask: () => Promise<T>): Promise<T> {
  const asked = { isAnswered: false }
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
