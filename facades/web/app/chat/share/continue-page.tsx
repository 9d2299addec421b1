import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { forgetContinued, type LinkVisit, readContinued } from '../../shared/link-visit.ts'
import { useSession } from '../../shared/session.tsx'
import { t } from '../../shared/text/labels.ts'
import { getButtonClass } from '../../shared/ui/button.tsx'
import { Notice } from '../../shared/ui/notice.tsx'
import { Page, PagePlaceholder } from '../../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../../shared/ui/page-head.tsx'
import { ListFailure } from '../../shared/ui/side-list.tsx'
import { continueLink } from './continue-link.ts'

/** Copies the chat whose link this tab has opened, and goes to the copy. */
export function ContinuePage() {
  const [visit] = useState(readContinued)
  usePageTitle(t('app.share.continue'))
  return (
    <Page>
      <PageHead>
        <h1>{t('app.share.continue')}</h1>
      </PageHead>
      <PagePlaceholder>{visit ? <Copying visit={visit} /> : <p>{t('app.share.nothing')}</p>}</PagePlaceholder>
    </Page>
  )
}

function Copying({ visit }: { visit: LinkVisit }) {
  // Throws if the keys are locked, which leads to the page for the passkey.
  const { conversationKey } = useSession()
  const navigate = useNavigate()
  const { data, error, refetch } = useQuery({
    queryKey: ['continued link', visit.id],
    queryFn: () => continueLink(visit, conversationKey),
    retry: false,
    gcTime: 0,
  })
  useEffect(() => {
    if (!data) return
    forgetContinued()
    if (data.hasAllFiles) void navigate({ to: '/chat/$slug', params: { slug: data.slug }, replace: true })
  }, [data, navigate])
  if (error) return <ListFailure error={error} read={refetch} />
  if (!data || data.hasAllFiles) return <p role="status">{t('app.share.copying')}</p>
  return (
    <>
      <Notice kind="warning" role="status">
        {t('app.share.filesMissing')}
      </Notice>
      <Link to="/chat/$slug" params={{ slug: data.slug }} className={getButtonClass('primary')}>
        {t('app.share.openCopy')}
      </Link>
    </>
  )
}
