import type { ContextOf, Door } from '../../http/procedures.ts'

export interface ReqOptions extends Door {
  /** Looks at the session without using it: its time goes on. */
  peekContextOf: ContextOf
}
