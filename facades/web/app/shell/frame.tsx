import { Outlet, useLocation } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { LiveConversations } from '../chat/live-conversations.ts'
import { isSignedOut } from '../shared/api/client.ts'
import { describeError, getRequestId } from '../shared/api/error-text.ts'
import { useSessionEnd } from '../shared/api/session-end.ts'
import { dropClosingGuards } from '../shared/closing-guard.ts'
import { KeyStoreFailure, KeysLocked } from '../shared/conversation-key.ts'
import { useIsIdle } from '../shared/idle.ts'
import { SessionProvider, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { MessagePage } from '../shared/ui/message-page.tsx'
import { SidebarContext } from '../shared/ui/sidebar-state.ts'
import { ClosingNotice } from './closing-notice.tsx'
import styles from './frame.module.css'
import { KeyStoreFailurePage } from './key-store-failure.tsx'
import { Shortcuts } from './shortcuts.tsx'
import { Sidebar } from './sidebar.tsx'

const SessionEndDialog = lazy(async () => ({ default: (await import('./session-end-dialog.tsx')).SessionEndDialog }))

/** Does nothing when its chunk cannot be loaded, so that the page does not fail for it. */
const RoomUpdates = lazy<() => ReactNode>(() =>
  import('../rooms/room-updates.tsx').then(
    ({ RoomUpdates: Updates }) => ({ default: Updates }),
    () => ({ default: () => null }),
  ),
)

/** The frame around every page: the sidebar and the page itself. */
export function Frame() {
  const [isOpen, setOpen] = useState(false)
  const hasEnded = useSessionEnd()
  return (
    <Suspense fallback={<Loading />}>
      <SessionProvider>
        <SidebarContext value={{ isOpen, setOpen }}>
          <a className="skip" href="#main">
            {t('page.skip')}
          </a>
          <LiveConversations />
          <LiveRooms />
          <Shortcuts />
          <div className={styles.frame}>
            <Sidebar />
            <Outlet />
          </div>
          <ClosingNotice />
          {hasEnded && (
            <Suspense>
              <SessionEndDialog />
            </Suspense>
          )}
        </SidebarContext>
      </SessionProvider>
    </Suspense>
  )
}

const Loading = () => (
  <MessagePage>
    <p className={styles.wait}>{t('page.working')}</p>
  </MessagePage>
)

/** Applies changes from elsewhere on every page. The sidebar cannot, as it is closed on narrow screens. */
function LiveRooms() {
  const { isLocked } = useSession()
  const isInRooms = useLocation({ select: ({ pathname }) => pathname.startsWith('/rooms') })
  const isIdle = useIsIdle()
  if (isLocked || !(isInRooms || isIdle)) return null
  return (
    <Suspense>
      <RoomUpdates />
    </Suspense>
  )
}

/** Replaces a page that failed: shows the error, a button to try again and the request id for the log. */
export function PageFailure({ error }: { error: unknown }) {
  if (error instanceof KeysLocked) return <Redirect to="/handshake" />
  if (isSignedOut(error)) return <Redirect to="/login" />
  if (error instanceof KeyStoreFailure) return <KeyStoreFailurePage />
  const requestId = getRequestId(error)
  return (
    <MessagePage>
      <div role="alert">
        <h1>{t('app.failed.title')}</h1>
        <p>{describeError(error)}</p>
      </div>
      <p>
        <Button kind="primary" onClick={() => location.reload()}>
          {t('app.tryAgain')}
        </Button>
      </p>
      {requestId && (
        <p className="hint">
          {t('page.requestId')}: <code>{requestId}</code>
        </p>
      )}
    </MessagePage>
  )
}

let isLeaving = false

/**
 * Redirects to a page outside of the front end, which leads back here. A failure can be shown several times, and a second
 * redirect would abort the first.
 */
function Redirect({ to }: { to: string }) {
  useEffect(() => {
    if (isLeaving) return
    isLeaving = true
    dropClosingGuards()
    location.replace(`${to}?redirectUri=${encodeURIComponent(location.pathname + location.search)}`)
  }, [to])
  return null
}
