import { Link, useLocation } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense } from 'react'
import { ConversationList } from '../chat/conversation-list.tsx'
import { focusField } from '../shared/conversation/composer.tsx'
import { useIsIdle } from '../shared/idle.ts'
import { useSession } from '../shared/session.tsx'
import { siteLinks, siteLogo, siteName } from '../shared/site.ts'
import { t } from '../shared/text/labels.ts'
import { getButtonClass } from '../shared/ui/button.tsx'
import { joinClasses } from '../shared/ui/class-names.ts'
import { Icon } from '../shared/ui/icon.tsx'
import { SideListPlaceholder } from '../shared/ui/side-list.tsx'
import { useIsNarrow, useSidebar } from '../shared/ui/sidebar-state.ts'
import { AccountMenu } from './account-menu.tsx'
import styles from './sidebar.module.css'

const Drawer = lazy(async () => ({ default: (await import('./drawer.tsx')).Drawer }))

/** Shows the sidebar beside the page, or as a drawer over a narrow one. */
export function Sidebar() {
  const { isOpen, setOpen } = useSidebar()
  if (!useIsNarrow())
    return (
      <aside className={styles.sidebar}>
        <SidebarContent />
      </aside>
    )
  return isOpen ? (
    <Suspense>
      <Drawer close={() => setOpen(false)}>
        <div className={styles.sidebar}>
          <SidebarContent />
        </div>
      </Drawer>
    </Suspense>
  ) : null
}

const AdminNav = lazy(async () => ({ default: (await import('../admin/admin-nav.tsx')).AdminNav }))
/** Shows no count when its chunk cannot be loaded, so that the page does not fail for it. */
const RoomsCount = lazy<() => ReactNode>(() =>
  import('../rooms/rooms-count.tsx').then(
    ({ RoomsCount: Count }) => ({ default: Count }),
    () => ({ default: () => null }),
  ),
)
const RoomList = lazy(async () => ({ default: (await import('../rooms/room-list.tsx')).RoomList }))

function SidebarContent() {
  const { setOpen } = useSidebar()
  const close = () => setOpen(false)
  const beginChat = () => {
    close()
    // The page of a new chat may be shown already.
    focusField('chat')
  }
  return (
    <>
      <div className={styles.head}>
        <Link to="/chat" className={styles.brand} onClick={close}>
          {siteLogo && <img alt="" height="28" src={siteLogo} />}
          <span>{siteName}</span>
        </Link>
        <Link
          to="/chat"
          className={joinClasses(getButtonClass(), styles.creation)}
          onClick={beginChat}
          aria-keyshortcuts="Control+Shift+O"
        >
          <Icon name="plus" /> {t('app.chat.new')}
        </Link>
      </div>
      <AreaTabs />
      <AreaList close={close} />
      {siteLinks.length > 0 && (
        <nav className={styles.links} aria-label={t('page.site')}>
          {siteLinks.map(({ text, address }) => (
            <a key={text} href={address} target="_blank" rel="noreferrer">
              {t(text)}
            </a>
          ))}
        </nav>
      )}
      <AccountMenu close={close} />
    </>
  )
}

type Area = 'chat' | 'rooms' | 'admin'

/** Returns the area that the address belongs to. People who are no administrators never see the administration. */
function useArea(): Area {
  const { isAdministrator } = useSession()
  const area = useLocation({ select: ({ pathname }) => pathname.split('/')[1] })
  if (area === 'rooms') return area
  return area === 'admin' && isAdministrator ? area : 'chat'
}

function AreaTabs() {
  const { isAdministrator, isLocked } = useSession()
  const area = useArea()
  const isIdle = useIsIdle()
  const markCurrent = (each: Area) => (each === area ? 'page' : undefined)
  return (
    <nav className={styles.tabs} aria-label={t('app.navigation')}>
      <Link to="/chat" aria-current={markCurrent('chat')}>
        {t('app.chats')}
      </Link>
      <Link to="/rooms" aria-current={markCurrent('rooms')}>
        {t('app.rooms')}
        {!isLocked && (area === 'rooms' || isIdle) && (
          <Suspense>
            <RoomsCount />
          </Suspense>
        )}
      </Link>
      {isAdministrator && (
        <Link to="/admin" aria-current={markCurrent('admin')}>
          {t('app.admin')}
        </Link>
      )}
    </nav>
  )
}

const areaLists = { chat: ConversationList, rooms: RoomList, admin: AdminNav }

function AreaList({ close }: { close: () => void }) {
  const { isLocked } = useSession()
  const area = useArea()
  if (isLocked && area !== 'admin') return <SideListPlaceholder>{t('app.settings.locked')}</SideListPlaceholder>
  const List = areaLists[area]
  return (
    <>
      {area === 'chat' && (
        <Link to="/assistants" className={styles.entry} onClick={close}>
          <Icon name="assistant" /> {t('app.assistants')}
        </Link>
      )}
      <Suspense>
        <List onChoose={close} />
      </Suspense>
    </>
  )
}
