import { Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useEffect, useState } from 'react'
import { getRelatedId } from '../shared/api/related.ts'
import { useIsOnline } from '../shared/online.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { IconButton } from '../shared/ui/icon.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { invitePendingPeople } from './invitations.ts'
import { KeyNotice } from './key-notice.tsx'
import { canNotify, chooseNotificationLevel, type NotificationLevel, readNotificationLevel } from './notifications.ts'
import { usePresentUsers, useTypingUsers } from './presence.ts'
import type { Room } from './room.ts'
import { RoomComposer } from './room-composer.tsx'
import { RoomProvider, useOpenRoom, useRoom, useRoomView } from './room-context.ts'
import { getMemberName, listPeople } from './room-members.ts'
import { RoomMessages } from './room-messages.tsx'
import { deleteRoom } from './rooms.ts'
import './rooms.css'

const MembersPanel = lazy(async () => ({ default: (await import('./members-panel.tsx')).MembersPanel }))
const ThreadPanel = lazy(async () => ({ default: (await import('./thread-panel.tsx')).ThreadPanel }))
const SearchPanel = lazy(async () => ({ default: (await import('./search-panel.tsx')).SearchPanel }))

type Panel = { kind: 'members' | 'search' } | { kind: 'thread'; id: string } | undefined

/** A room, with a panel beside it. */
export function RoomPage({ slug }: { slug: string }) {
  const [panel, setPanel] = useState<Panel>()
  const showThread = useCallback(
    (id: string | undefined) => setPanel(id === undefined ? undefined : { kind: 'thread', id }),
    [],
  )
  return (
    <RoomProvider value={useOpenRoom(slug, showThread)}>
      <RoomContent slug={slug} panel={panel} setPanel={setPanel} />
    </RoomProvider>
  )
}

interface RoomContentProps {
  slug: string
  panel: Panel
  setPanel: (panel: Panel) => void
}

function RoomContent({ slug, panel, setPanel }: RoomContentProps) {
  const { session, store } = useRoom()
  const [chosenHit, setChosenHit] = useState<{ id: string }>()
  const present = usePresentUsers(session, slug)
  const close = () => setPanel(undefined)
  const isAdmin = useRoomView(({ room }) => room?.role === 'admin')
  const isOpen = useRoomView(({ phase }) => phase === 'open')
  useEffect(() => {
    const { room } = store.view
    if (room && isAdmin) invitePendingPeople(session, room).catch(() => {})
  }, [session, store, isAdmin])
  return (
    <main id="main" className={panel ? 'chat room-page with-panel' : 'chat room-page'}>
      <RoomHead present={present} show={(kind) => setPanel(panel?.kind === kind ? undefined : { kind })} />
      {isOpen ? <RoomMessages target={chosenHit} /> : <RoomPlaceholder />}
      {isOpen && (
        <div className="room-foot">
          <KeyNotice showMembers={() => setPanel({ kind: 'members' })} />
          <RoomStatus slug={slug} />
          <RoomComposer thread={null} />
        </div>
      )}
      {isOpen && panel && (
        <Suspense>
          {panel.kind === 'members' && <MembersPanel present={present} close={close} />}
          {panel.kind === 'thread' && <ThreadPanel id={panel.id} close={close} />}
          {panel.kind === 'search' && <SearchPanel choose={(id) => setChosenHit({ id })} close={close} />}
        </Suspense>
      )}
    </main>
  )
}

/** A line that says who is typing, or that the room gets new keys. */
function RoomStatus({ slug }: { slug: string }) {
  const { session } = useRoom()
  // The notice above says why somebody gets no key.
  const isRekeying = useRoomView(({ room, untrustedKeys }) => room?.rekeyRequired && untrustedKeys.length === 0)
  const members = useRoomView((view) => view.members)
  const messages = useRoomView((view) => view.messages)
  const typing = useTypingUsers(session, slug)
  const isOnline = useIsOnline()
  const writers = [...members.values()].filter((member) => {
    const since = typing.get(getRelatedId(member, 'user') ?? '')
    const last = messages.findLast((each) => each.member === member.id)
    return since !== undefined && !(last && Date.parse(last.createdAt) > since)
  })
  const describeStatus = () => {
    if (!isOnline) return ''
    if (isRekeying) return t('app.rooms.newKeys')
    if (writers.length === 0) return ''
    if (writers.length > MAX_NAMED) return t('app.rooms.manyType')
    return t('app.rooms.types', { count: writers.length, names: writers.map(getMemberName).join(', ') })
  }
  return (
    <p className="standing hint" role="status">
      {describeStatus()}
    </p>
  )
}

const MAX_NAMED = 3

const RoomSettingsDialog = lazy(async () => ({
  default: (await import('./room-settings-dialog.tsx')).RoomSettingsDialog,
}))

interface RoomHeadProps {
  present: ReadonlySet<string> | undefined
  show: (kind: 'members' | 'search') => void
}

/** The name of a room, the members who are present, and the menu of the room. */
function RoomHead({ present, show }: RoomHeadProps) {
  const room = useRoomView((view) => view.room)
  const description = useRoomView((view) => view.description)
  const phase = useRoomView((view) => view.phase)
  const isOpen = phase === 'open'
  const name = room?.name ?? t('app.rooms.one')
  usePageTitle(name)
  return (
    <PageHead>
      {room?.avatar && <img className="room-picture" src={`/proxy/storage/${room.avatar}`} alt="" />}
      <div className="room-title">
        <h1 dir="auto">{name}</h1>
        {isOpen && description && (
          <p className="hint" dir="auto" title={description}>
            {description}
          </p>
        )}
      </div>
      {phase === 'ended' && <Link to="/rooms">{t('app.rooms')}</Link>}
      {isOpen && room && (
        <>
          <PresentCount present={present} />
          <IconButton icon="search" label={t('app.rooms.search')} onClick={() => show('search')} />
          <IconButton icon="people" label={t('app.rooms.members')} onClick={() => show('members')} />
          <RoomMenu room={room} />
        </>
      )}
    </PageHead>
  )
}

function PresentCount({ present }: { present: ReadonlySet<string> | undefined }) {
  const members = useRoomView((view) => view.members)
  const people = listPeople(members).filter((member) => present?.has(getRelatedId(member, 'user') ?? ''))
  return people.length > 1 ? (
    <span className="hint here-count" title={people.map(getMemberName).join(', ')}>
      {t('app.rooms.here', { count: people.length })}
    </span>
  ) : null
}

function RoomMenu({ room }: { room: Room }) {
  const { session } = useRoom()
  const [dialog, setDialog] = useState<'settings' | 'delete' | 'denied'>()
  const [level, setLevel] = useState(() => readNotificationLevel(session))
  const chooseLevel = async (next: NotificationLevel) => {
    const chosen = await chooseNotificationLevel(session, next)
    setLevel(chosen)
    if (chosen !== next) setDialog('denied')
  }
  const close = () => setDialog(undefined)
  const notices = nextLevels[level].map(
    (next): MenuEntry => ({
      icon: next === 'off' ? 'mute' : 'speak',
      label: t(next === 'on' && level === 'text' ? 'app.rooms.noticesPlain' : levelLabels[next]),
      choose: () => void chooseLevel(next),
    }),
  )
  const administration: MenuEntry[] = [
    { icon: 'settings', label: t('app.rooms.settings'), choose: () => setDialog('settings') },
    { icon: 'trash', label: t('app.rooms.delete'), isDangerous: true, choose: () => setDialog('delete') },
  ]
  const items = [...(canNotify ? notices : []), ...(room.role === 'admin' ? administration : [])]
  return (
    <>
      {items.length > 0 && <MenuButton label={t('app.rooms.menu', { name: room.name })} items={items} />}
      {dialog === 'settings' && (
        <Suspense>
          <RoomSettingsDialog close={close} />
        </Suspense>
      )}
      {dialog === 'delete' && <DeleteDialog room={room} close={close} />}
      {dialog === 'denied' && (
        <FormDialog title={t('app.rooms.noticesOn')} close={close}>
          <p>{t('app.rooms.noticesDenied')}</p>
        </FormDialog>
      )}
    </>
  )
}

const nextLevels: Record<NotificationLevel, readonly NotificationLevel[]> = {
  off: ['on'],
  on: ['text', 'off'],
  text: ['on', 'off'],
}

const levelLabels = {
  off: 'app.rooms.noticesOff',
  on: 'app.rooms.noticesOn',
  text: 'app.rooms.noticesText',
} as const

function DeleteDialog({ room, close }: { room: Room; close: () => void }) {
  const navigate = useNavigate()
  const save = async () => {
    await deleteRoom(room)
    await navigate({ to: '/rooms' })
  }
  return (
    <FormDialog title={t('app.rooms.delete')} action={t('app.delete')} isDangerous save={save} close={close}>
      <p>{t('app.rooms.deleteText', { name: room.name })}</p>
    </FormDialog>
  )
}

/** Replaces the messages while the room loads, and after it has ended or failed. */
function RoomPlaceholder() {
  const phase = useRoomView((view) => view.phase)
  const error = useRoomView((view) => view.error)
  const isOnline = useIsOnline()
  if (phase === 'failed') return <ErrorMessage error={error} className="notice wrong" />
  if (phase === 'ended') return <p className="empty ended">{t('app.rooms.ended')}</p>
  return <p className="hint opening">{t(isOnline ? 'page.working' : 'app.rooms.offlineOpening')}</p>
}
