import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { getKeyring } from './keyring.ts'
import { useInvitations, useRooms } from './rooms.ts'
import './rooms.css'

/** Explains rooms while none is chosen. */
export function RoomsPage() {
  // Throws if the keys are locked, which leads to the page for the passkey.
  getKeyring(useSession())
  usePageTitle(t('app.rooms'))
  const { data: rooms } = useRooms()
  const { data: invitations = [] } = useInvitations()
  return (
    <main id="main" className="chat room-page">
      <PageHead>
        <h1>{t('app.rooms')}</h1>
      </PageHead>
      <div className="empty rooms-empty">
        <p>{t(rooms?.length === 0 ? 'app.rooms.about' : 'app.rooms.choose')}</p>
        {invitations.length > 0 && (
          <p className="hint">{t('app.invitations.waiting', { count: invitations.length })}</p>
        )}
      </div>
    </main>
  )
}
