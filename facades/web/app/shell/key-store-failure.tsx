import { t } from '../shared/text/labels.ts'
import { KeyStoreNotice } from '../shared/ui/key-store-notice.tsx'
import { MessagePage } from '../shared/ui/message-page.tsx'

/** Replaces a page whose keys cannot be read from this browser. */
export const KeyStoreFailurePage = () => (
  <MessagePage>
    <h1>{t('app.failed.title')}</h1>
    <KeyStoreNotice />
    <p>
      <a href="/logout">{t('page.signOut')}</a>
    </p>
  </MessagePage>
)
