import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'

/** Ends when the caller goes away, or within a second when the token ends by which they call. */
export function callSignal({ callerContext: { current }, services, signal }: Context): AbortSignal {
  if (current.type !== 'user' || !current.token || signal.aborted) return signal
  const call = new AbortController()
  const stop = services.credentials.follow(`token:${current.token.id}`, () => call.abort(new Problem('invalid_token')))
  const gone = () => {
    stop()
    call.abort(signal.reason)
  }
  signal.addEventListener('abort', gone, { once: true })
  return call.signal
}
