import { type Context, findCredential } from '../core/context.ts'
import { Problem } from '../core/problems.ts'

/** Ends when the caller goes away, or within a second when the token or the session ends by which they call. */
export function callSignal(ctx: Context): AbortSignal {
  const { services } = ctx
  const signal = ctx.signal()
  const credential = findCredential(ctx)
  if (credential === undefined || signal.aborted) return signal
  const call = new AbortController()
  const ended = () => call.abort(new Problem(credential.startsWith('token:') ? 'invalid_token' : 'signed_out'))
  const stop = services.credentials.follow(credential, ended)
  const gone = () => {
    stop()
    call.abort(signal.reason)
  }
  signal.addEventListener('abort', gone, { once: true })
  return call.signal
}
