import { isSignedOut } from '../shared/api/client.ts'
import { errorText, requestIdOf } from '../shared/api/error-text.ts'
import { Locked } from '../shared/crypto/conversation-key.ts'
import { t } from '../shared/text/labels.ts'

/** Stands in place of what failed: one sentence, a way to try again, and how to find it in the log. */
export function PageFailure({ error }: { error: unknown }) {
  if (error instanceof Locked) return <Leave to="/handshake" />
  if (isSignedOut(error)) return <Leave to="/login" />
  const requestId = requestIdOf(error)
  return (
    <main className="failure" role="alert">
      <h1>{t('app.failed.title')}</h1>
      <p>{errorText(error)}</p>
      <p>
        <button type="button" className="button" onClick={() => location.reload()}>
          {t('app.tryAgain')}
        </button>
      </p>
      {requestId && (
        <p className="hint">
          {t('page.requestId')}: <code>{requestId}</code>
        </p>
      )}
    </main>
  )
}

/** Goes to a page outside, which leads back here. */
function Leave({ to }: { to: string }) {
  location.replace(`${to}?redirectUri=${encodeURIComponent(location.pathname + location.search)}`)
  return null
}
