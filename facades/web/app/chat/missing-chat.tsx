import { Link } from '@tanstack/react-router'
import { t } from '../shared/text/labels.ts'
import { getButtonClass } from '../shared/ui/button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { Page, PagePlaceholder } from '../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'

/** The page of a chat that was deleted or never existed, or of a temporary one that is gone. */
export function MissingChat({ isTemporary = false }: { isTemporary?: boolean }) {
  usePageTitle(t('app.chat.missing'))
  return (
    <Page>
      <PageHead>
        <h1>{t('app.chat.missing')}</h1>
      </PageHead>
      <PagePlaceholder>
        <p>{t(isTemporary ? 'app.temporary.gone' : 'app.chat.missingText')}</p>
        <NewChatLink isPrimary />
      </PagePlaceholder>
    </Page>
  )
}

/** Says that the chat that is shown was deleted in another tab or browser. */
export const DeletedNotice = () => (
  <Notice kind="warning" layout="row" role="status">
    <span>{t('app.chat.deleted')}</span>
    <NewChatLink />
  </Notice>
)

const NewChatLink = ({ isPrimary = false }: { isPrimary?: boolean }) => (
  <Link to="/chat" className={getButtonClass(isPrimary ? 'primary' : 'quiet')}>
    {t('app.chat.new')}
  </Link>
)
