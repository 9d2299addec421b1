import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { readInvitationFragment } from '../../browser/crypto.ts'
import { forgetLinkSecret, readLinkSecret } from '../shared/link-secret.ts'
import { useSession } from '../shared/session.tsx'
import { formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Button, getButtonClass } from '../shared/ui/button.tsx'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { Lead, Page, PagePlaceholder } from '../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { acceptInvitation, previewInvitation } from './invitations.ts'
import { getKeyring } from './keyring.ts'
import { roleLabels } from './room.ts'

/** Previews and accepts an invitation by link. */
export function JoinPage() {
  const [link] = useState(readInvitationLink)
  usePageTitle(t('app.invitations.one'))
  return (
    <Page>
      <PageHead>
        <h1>{t('app.invitations.one')}</h1>
      </PageHead>
      <PagePlaceholder>{link ? <InvitationPreview {...link} /> : <p>{t('app.invitations.noLink')}</p>}</PagePlaceholder>
    </Page>
  )
}

function readInvitationLink() {
  try {
    return readInvitationFragment(readLinkSecret() ?? '')
  } catch {
    return undefined
  }
}

function InvitationPreview({ id, secret }: { id: string; secret: string }) {
  const session = useSession()
  // Throws if the keys are locked, which leads to the page for the passkey.
  getKeyring(session)
  const navigate = useNavigate()
  const { data, error } = useQuery({
    queryKey: ['invitation', id],
    queryFn: () => previewInvitation(id, secret),
    retry: false,
  })
  const [state, setState] = useState<'ready' | 'working' | { failure: unknown }>('ready')
  const accept = async () => {
    const slug = await acceptInvitation(session, id, secret)
    forgetLinkSecret()
    await navigate({ to: '/rooms/$slug', params: { slug }, replace: true })
  }
  const submit = () => {
    setState('working')
    accept().catch((failure: unknown) => setState({ failure }))
  }
  if (error) return <p role="alert">{t('app.invitations.gone')}</p>
  if (!data) return <p className="hint">{t('page.working')}</p>
  return (
    <>
      <Lead>{data.roomName}</Lead>
      <p className="hint">
        {t('app.invitations.from', {
          name: data.inviterName ?? t('app.rooms.somebody'),
          role: t(roleLabels[data.role]),
        })}{' '}
        {t('app.invitations.until', { at: formatTimestamp(new Date(data.expiresAt)) })}
      </p>
      {typeof state === 'object' && <ErrorNotice error={state.failure} />}
      <Toolbar align="end">
        <Link to="/rooms" className={getButtonClass()}>
          {t('app.invitations.later')}
        </Link>
        <Button kind="primary" disabled={state === 'working'} onClick={submit}>
          {t('app.invitations.accept')}
        </Button>
      </Toolbar>
    </>
  )
}
