import type { ContextOf, FacadeOptions } from '../../http/procedures.ts'

export interface ReqOptions extends FacadeOptions {
  /** Looks at the session without using it: its time goes on. */
  peekContextOf: ContextOf
}
