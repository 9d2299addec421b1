import type { Context } from './context.ts'
import { Problem } from './problems.ts'

/** By what somebody calls who is signed in: `token:{id}` or `session:{hash}`. */
export function credentialOf({ callerContext: { current }, browser }: Context): string {
  if (current.type === 'user' && current.token) return `token:${current.token.id}`
  if (browser?.session) return `session:${browser.session.handle}`
  throw new Problem('signed_out')
}
