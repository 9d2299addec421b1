import { lazy, Suspense, useState } from 'react'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { Lead, Page, PagePlaceholder } from '../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { useIsNarrow, useSidebar } from '../shared/ui/sidebar-state.ts'
import { getKeyring } from './keyring.ts'
import { useInvitations, useRooms } from './rooms.ts'

const NewRoomDialog = lazy(async () => ({ default: (await import('./new-room-dialog.tsx')).NewRoomDialog }))

/** Explains rooms while none is chosen. */
export function RoomsPage() {
  // Throws if the keys are locked, which leads to the page for the passkey.
  getKeyring(useSession())
  usePageTitle(t('app.rooms'))
  const { data: rooms } = useRooms()
  const { data: invitations = [] } = useInvitations()
  return (
    <Page>
      <PageHead>
        <h1>{t('app.rooms')}</h1>
      </PageHead>
      <PagePlaceholder>
        {rooms?.length === 0 ? <NoRooms /> : <ChooseRoom />}
        {invitations.length > 0 && (
          <p className="hint">{t('app.invitations.waiting', { count: invitations.length })}</p>
        )}
      </PagePlaceholder>
    </Page>
  )
}

/** Asks for a choice in the list, and opens it where the sidebar is closed. */
function ChooseRoom() {
  const { setOpen } = useSidebar()
  const isNarrow = useIsNarrow()
  return (
    <>
      <p>{t('app.rooms.choose')}</p>
      {isNarrow && (
        <Button kind="primary" onClick={() => setOpen(true)}>
          {t('app.rooms.openList')}
        </Button>
      )}
    </>
  )
}

/** Explains what a room is. Where the sidebar is closed, its button stands here as well. */
function NoRooms() {
  const [isCreating, setCreating] = useState(false)
  const isNarrow = useIsNarrow()
  const close = () => setCreating(false)
  return (
    <>
      <Lead>{t('app.rooms.none')}</Lead>
      <p>{t('app.rooms.about')}</p>
      {isNarrow && (
        <Button kind="primary" onClick={() => setCreating(true)}>
          {t('app.rooms.new')}
        </Button>
      )}
      {isCreating && (
        <Suspense>
          <NewRoomDialog close={close} onChoose={close} />
        </Suspense>
      )}
    </>
  )
}
