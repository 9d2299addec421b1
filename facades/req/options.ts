import type { ContextOf } from '../request-context.ts'

export interface ReqOptions {
  contextOf: ContextOf
  /** Looks at the session without using it: its time goes on. */
  peekContextOf: ContextOf
}

/** Nobody writes more by hand. */
export const small = { bodyLimit: 16 * 1024 }
