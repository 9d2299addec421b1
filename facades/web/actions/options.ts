import type { Door } from '../../http/procedures.ts'
import type { ContextOf } from '../../http/request-context.ts'

export interface ReqOptions extends Door {
  /** Looks at the session without using it: its time goes on. */
  peekContextOf: ContextOf
}
