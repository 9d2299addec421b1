import { useState } from 'react'
import { deleteStore } from '../shared/conversation-key.ts'
import { t } from '../shared/text/labels.ts'

/** Replaces a page whose keys cannot be read from this browser, with a button that begins anew with the passkey. */
export function KeyStoreFailurePage() {
  const [isUnusable, setUnusable] = useState(false)
  const begin = () =>
    deleteStore().then(
      () => location.reload(),
      () => setUnusable(true),
    )
  return (
    <main className="failure">
      <h1>{t('app.failed.title')}</h1>
      <p role="alert">{t(isUnusable ? 'page.keystore.unusable' : 'page.keystore.damaged')}</p>
      <p>
        <button type="button" className="button" onClick={begin}>
          {t('page.keystore.begin')}
        </button>
      </p>
      <p>
        <a href="/logout">{t('page.signOut')}</a>
      </p>
    </main>
  )
}
