import { AsyncLocalStorage } from 'node:async_hooks'
import type { Phase } from '../../net/exchange.ts'

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

/**
 * Marks an error about an answer that has come. It is paid, so the call fails like one whose answer broke off. `responseBody`,
 * as the AI SDK calls it, is the part that came.
 */
export const unread = (error: unknown, responseBody?: string): unknown =>
  error instanceof Error
    ? Object.assign(error, { phase: 'reading' satisfies Phase }, responseBody !== undefined && { responseBody })
    : error
