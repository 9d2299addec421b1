import type { Door } from '../procedures.ts'
import type { ContextOf } from '../request-context.ts'

export interface ReqOptions extends Door {
  /** Looks at the session without using it: its time goes on. */
  peekContextOf: ContextOf
}
