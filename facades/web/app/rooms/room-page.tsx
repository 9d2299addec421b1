import { Link, useNavigate } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from 'react'
import { SvcError } from '../../../client/index.ts'
import { describeError } from '../shared/api/error-text.ts'
import { getRelatedId } from '../shared/api/related.ts'
import { HandlesProvider } from '../shared/markdown/mentions.tsx'
import { useIsOnline } from '../shared/online.ts'
import { formatNames } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { getButtonClass } from '../shared/ui/button.tsx'
import { joinClasses } from '../shared/ui/class-names.ts'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { Page, PageError, PagePlaceholder } from '../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { invitePendingPeople } from './invitations.ts'
import { KeyNotice } from './key-notice.tsx'
import { type TargetMessage, useLinkedMessage } from './linked-message.ts'
import { useHandles } from './mentions.ts'
import { canNotify, chooseNotificationLevel, type NotificationLevel, readNotificationLevel } from './notifications.ts'
import { usePresentUsers, useTypingUsers } from './presence.ts'
import type { Room } from './room.ts'
import { RoomComposer } from './room-composer.tsx'
import { RoomProvider, useOpenRoom, useRoom, useRoomView } from './room-context.ts'
import { getMemberName, listPeople } from './room-members.ts'
import { RoomMessages } from './room-messages.tsx'
import styles from './room-page.module.css'
import { RoomPicture } from './room-picture.tsx'
import { deleteRoom } from './rooms.ts'

const MembersPanel = lazy(async () => ({ default: (await import('./members-panel.tsx')).MembersPanel }))
const ThreadPanel = lazy(async () => ({ default: (await import('./thread-panel.tsx')).ThreadPanel }))
const SearchPanel = lazy(async () => ({ default: (await import('./search-panel.tsx')).SearchPanel }))

type Panel = { kind: 'members' | 'search' } | { kind: 'thread'; id: string; target?: TargetMessage } | undefined

/** A room, with a panel beside it. */
export function RoomPage({ slug }: { slug: string }) {
  const [panel, setPanel] = useState<Panel>()
  const showThread = useCallback(
    (id: string | undefined) => setPanel(id === undefined ? undefined : { kind: 'thread', id }),
    [],
  )
  return (
    <RoomProvider value={useOpenRoom(slug, showThread)}>
      <RoomMentions>
        <RoomContent slug={slug} panel={panel} setPanel={setPanel} />
      </RoomMentions>
    </RoomProvider>
  )
}

const RoomMentions = ({ children }: { children: ReactNode }) => (
  <HandlesProvider value={useHandles()}>{children}</HandlesProvider>
)

interface RoomContentProps {
  slug: string
  panel: Panel
  setPanel: (panel: Panel) => void
}

function RoomContent({ slug, panel, setPanel }: RoomContentProps) {
  const { session, store } = useRoom()
  const [target, setTarget] = useState<TargetMessage>()
  const [linkError, setLinkError] = useState<unknown>()
  const present = usePresentUsers(session, slug)
  const close = () => setPanel(undefined)
  const isAdmin = useRoomView(({ room }) => room?.role === 'admin')
  const isOpen = useRoomView(({ phase }) => phase === 'open')
  useLinkedMessage((linked) => {
    setLinkError(undefined)
    setTarget(linked)
    if (linked.thread !== null) setPanel({ kind: 'thread', id: linked.thread, target: linked })
  }, setLinkError)
  useEffect(() => {
    const { room } = store.view
    if (room && isAdmin) invitePendingPeople(session, room).catch(() => {})
  }, [session, store, isAdmin])
  return (
    <Page className={joinClasses(styles.room, panel && styles.split)}>
      <RoomHead present={present} show={(kind) => setPanel(panel?.kind === kind ? undefined : { kind })} />
      <div className={styles.content}>{isOpen ? <RoomMessages target={target} /> : <RoomPlaceholder />}</div>
      {isOpen && (
        <footer className={styles.foot}>
          <LinkNotice error={linkError} close={() => setLinkError(undefined)} />
          <KeyNotice showMembers={() => setPanel({ kind: 'members' })} />
          <RoomStatus slug={slug} />
          <RoomComposer thread={null} />
        </footer>
      )}
      {isOpen && panel && (
        <Suspense>
          {panel.kind === 'members' && <MembersPanel present={present} close={close} />}
          {panel.kind === 'thread' && <ThreadPanel id={panel.id} target={panel.target} close={close} />}
          {panel.kind === 'search' && <SearchPanel choose={(id) => setTarget({ id, thread: null })} close={close} />}
        </Suspense>
      )}
    </Page>
  )
}

/** Says why the message that the address leads to is not shown. */
function LinkNotice({ error, close }: { error: unknown; close: () => void }) {
  if (error === undefined) return null
  const isGone = error instanceof SvcError && error.status === 404
  return (
    <Notice kind="warning" layout="row" role="alert">
      <span>{isGone ? t('app.rooms.linkGone') : describeError(error)}</span>
      <IconButton icon="close" label={t('app.close')} onClick={close} />
    </Notice>
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
    return t('app.rooms.types', { count: writers.length, names: formatNames(writers.map(getMemberName)) })
  }
  return (
    <p className={styles.status} role="status">
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
      <RoomPicture avatar={room?.avatar} />
      <div className={styles.title}>
        <h1 dir="auto">{name}</h1>
        {isOpen && description && (
          <p className={styles.description} dir="auto" title={description}>
            {description}
          </p>
        )}
      </div>
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
    <span className={styles.presence} title={people.map(getMemberName).join(', ')}>
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
      icon: next === 'off' ? 'mute' : 'bell',
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
  if (phase === 'failed') return <PageError error={error} />
  if (phase === 'ended')
    return (
      <PagePlaceholder>
        <p>{t('app.rooms.ended')}</p>
        <Link to="/rooms" className={getButtonClass('primary')}>
          {t('app.rooms.own')}
        </Link>
      </PagePlaceholder>
    )
  return <p className={joinClasses('hint', styles.wait)}>{t(isOnline ? 'page.working' : 'app.rooms.offlineOpening')}</p>
}
