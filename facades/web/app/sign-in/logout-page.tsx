import { forgetKeys } from '../../browser/keystore.ts'
import { api } from '../shared/api/client.ts'
import { announcePerson } from '../shared/person-change.ts'
import { t } from '../shared/text/labels.ts'
import { ActionForm } from '../shared/ui/action-form.tsx'
import { getButtonClass } from '../shared/ui/button.tsx'
import { go } from './return-path.ts'

/** Asks before it signs somebody out. */
export const LogoutPage = () => (
  <>
    <p>{t('page.logout.question')}</p>
    <ActionForm id="logout" label={t('page.logout.title')} submitText={t('page.signOut')} submit={signOut} />
    <a className={getButtonClass()} href="/chat">
      {t('page.logout.stay')}
    </a>
  </>
)

async function signOut(): Promise<never> {
  // Keys unlocked in this browser must not stay unlocked for its next user.
  // A store that cannot even be deleted cannot be opened by that user either.
  await forgetKeys().catch(() => undefined)
  const { redirectUri } = await api.sessions.logout.mutate()
  // The other tabs reload, so that their decrypted texts and keys do not outlast the session.
  announcePerson(null)
  return go(redirectUri)
}
