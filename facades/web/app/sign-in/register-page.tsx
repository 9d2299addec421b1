import { AnnouncementText } from '../shared/notices/announcement-text.tsx'
import { t } from '../shared/text/labels.ts'
import { getButtonClass } from '../shared/ui/button.tsx'
import { pageData } from './page-data.ts'

/** Shows the newest policy, or a default text, before the first keys. */
export const RegisterPage = () => (
  <>
    <p>{t('page.register.intro')}</p>
    <h2>{t('page.register.policyTitle')}</h2>
    {pageData.policy ? <AnnouncementText text={pageData.policy.text} /> : <p>{t('page.register.policy')}</p>}
    <a className={getButtonClass('primary')} href={`/handshake${location.search}`}>
      {t('page.register.submit')}
    </a>
  </>
)
