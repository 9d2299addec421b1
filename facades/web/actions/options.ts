import type { ContextOf, FacadeOptions } from '../../http/procedures.ts'

export interface ReqOptions extends FacadeOptions {
  /** The context of a request that does not renew its session. */
  peekContextOf: ContextOf
}
