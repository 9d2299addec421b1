import { t } from '../shared/text/labels.ts'
import { ActionForm } from '../shared/ui/action-form.tsx'
import { getButtonClass } from '../shared/ui/button.tsx'
import { go } from './return-path.ts'
import { signOut } from './sign-out.ts'

/** Asks before it signs somebody out. */
export const LogoutPage = () => (
  <>
    <p>{t('page.logout.question')}</p>
    <ActionForm
      id="logout"
      label={t('page.logout.title')}
      submitText={t('page.signOut')}
      submit={async () => go(await signOut())}
    />
    <a className={getButtonClass()} href="/chat">
      {t('page.logout.stay')}
    </a>
  </>
)
