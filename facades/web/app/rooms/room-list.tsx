import { Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { findModelLabel, useModels } from '../shared/models/models.ts'
import { useSession } from '../shared/session.tsx'
import { stripMarkdown } from '../shared/text/excerpt.ts'
import { formatShortDate, formatTime, formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { foldText } from '../shared/text/word-pattern.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage, InlineError } from '../shared/ui/error-message.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { ListFailure, ListSearch, RowMenu, SideList, SideNote, SideRow } from '../shared/ui/side-list.tsx'
import { acceptInvitation } from './invitations.ts'
import { useMentions } from './mentions.ts'
import { type Member, type Room, roleLabels } from './room.ts'
import styles from './room-list.module.css'
import { RoomPicture } from './room-picture.tsx'
import {
  arrangeRoom,
  endMembership,
  type LastMessage,
  markUnread,
  refreshRooms,
  useInvitations,
  useLastMessages,
  useRooms,
} from './rooms.ts'
import { Count } from './rooms-count.tsx'

const NewRoomDialog = lazy(async () => ({ default: (await import('./new-room-dialog.tsx')).NewRoomDialog }))

/** The rooms of the person, and the invitations to others. */
export function RoomList({ onChoose }: { onChoose: () => void }) {
  const { data: rooms, error } = useRooms()
  const { data: invitations = [] } = useInvitations()
  const [search, setSearch] = useState('')
  const [isCreating, setCreating] = useState(false)
  const session = useSession()
  const { data: last } = useLastMessages(session, rooms)
  const needle = foldText(search.trim())
  const matches = (rooms ?? []).filter(({ name }) => foldText(name).includes(needle))
  const getLastActivity = (room: Room) => last?.get(room.id)?.createdAt ?? room.createdAt
  const sorted = matches.toSorted((one, other) => getLastActivity(other).localeCompare(getLastActivity(one)))
  const active = sorted.filter(({ isArchived }) => !isArchived)
  const archived = sorted.filter(({ isArchived }) => isArchived)
  return (
    <>
      <ListSearch label={t('app.rooms.find')} text={search} search={setSearch} />
      <SideList label={t('app.rooms')}>
        <Button className={styles.creation} onClick={() => setCreating(true)}>
          <Icon name="plus" /> {t('app.rooms.new')}
        </Button>
        {error && <ListFailure error={error} read={refreshRooms} />}
        {invitations.length > 0 && (
          <section>
            <h2>{t('app.invitations')}</h2>
            <ul>
              {invitations.map((each) => (
                <InvitationCard key={each.id} invitation={each} onChoose={onChoose} />
              ))}
            </ul>
          </section>
        )}
        {rooms && active.length === 0 && (
          <SideNote>{t(needle === '' ? 'app.rooms.none' : 'app.rooms.notFound')}</SideNote>
        )}
        <ul>
          {active.map((room) => (
            <RoomRow key={room.id} room={room} last={last?.get(room.id)} onChoose={onChoose} />
          ))}
        </ul>
        {archived.length > 0 && (
          <details className={styles.archive}>
            <summary>{t('app.rooms.archived', { count: archived.length })}</summary>
            <ul>
              {archived.map((room) => (
                <RoomRow key={room.id} room={room} last={last?.get(room.id)} onChoose={onChoose} />
              ))}
            </ul>
          </details>
        )}
      </SideList>
      {isCreating && (
        <Suspense>
          <NewRoomDialog close={() => setCreating(false)} onChoose={onChoose} />
        </Suspense>
      )}
    </>
  )
}

/** An invitation, with buttons to accept or decline it. */
function InvitationCard({ invitation, onChoose }: { invitation: Member; onChoose: () => void }) {
  const session = useSession()
  const navigate = useNavigate()
  const [state, setState] = useState<'ready' | 'working' | { error: unknown }>('ready')
  const { id, roomName = '', inviterName = '', role, expiresAt } = invitation
  const accept = async () => {
    const slug = await acceptInvitation(session, id)
    onChoose()
    await navigate({ to: '/rooms/$slug', params: { slug } })
  }
  const isWorking = state === 'working'
  /** The buttons stay disabled after a success, until the list is read again without the invitation. */
  const run = (act: () => Promise<void>) => {
    setState('working')
    act().catch((error: unknown) => setState({ error }))
  }
  return (
    <li className={styles.invitation}>
      <strong dir="auto">{roomName}</strong>
      <span className="hint">
        {t('app.invitations.from', { name: inviterName, role: t(roleLabels[role]) })}
        {expiresAt !== undefined && ` ${t('app.invitations.until', { at: formatTimestamp(new Date(expiresAt)) })}`}
      </span>
      {typeof state === 'object' && <ErrorMessage error={state.error} />}
      <div className={styles.answers}>
        <Button disabled={isWorking} onClick={() => run(() => endMembership(invitation))}>
          {t('app.invitations.decline')}
        </Button>
        <Button kind="primary" disabled={isWorking} onClick={() => run(accept)}>
          {t('app.invitations.accept')}
        </Button>
      </div>
    </li>
  )
}

interface RoomRowProps {
  room: Room
  last: LastMessage | undefined
  onChoose: () => void
}

function RoomRow({ room, last, onChoose }: RoomRowProps) {
  const { id, slug, name, avatar, unreadCount = 0, isMuted = false } = room
  const mentions = useMentions(id)
  const [error, setError] = useState<unknown>()
  const unread = isMuted ? 0 : unreadCount
  return (
    <SideRow className={unread > 0 ? styles.unread : styles.read}>
      <Link
        to="/rooms/$slug"
        params={{ slug }}
        activeProps={{ 'aria-current': 'page' }}
        className={styles.room}
        onClick={onChoose}
      >
        <RoomPicture avatar={avatar} />
        <span className={styles.text}>
          <span className={styles.name} dir="auto">
            {name}
          </span>
          {last && <LastMessageLine last={last} />}
          <InlineError error={error} />
        </span>
      </Link>
      <span className={styles.badges}>
        {isMuted && <Icon name="mute" />}
        <Count label={t('app.rooms.mentions', { count: mentions })} count={mentions} isMention />
        <Count label={t('app.rooms.unread', { count: unread })} count={unread} />
      </span>
      <RoomMenu room={room} canMarkUnread={last !== undefined && unreadCount === 0} fail={setError} />
    </SideRow>
  )
}

/** The menu that mutes or archives a room, or marks it as unread. */
interface RoomMenuProps {
  room: Room
  /** True if there are messages, and the person has read all of them. */
  canMarkUnread: boolean
  fail: (error: unknown) => void
}

function RoomMenu({ room, canMarkUnread, fail }: RoomMenuProps) {
  const { slug, name, isMuted = false, isArchived = false } = room
  const navigate = useNavigate()
  const archive = async () => {
    await arrangeRoom(room, { isArchived: !isArchived })
    if (!isArchived && location.pathname === `/rooms/${slug}`) await navigate({ to: '/rooms' })
  }
  const unread: MenuEntry = {
    icon: 'unread',
    label: t('app.rooms.markUnread'),
    choose: () => void markUnread(room).catch(fail),
  }
  const items: MenuEntry[] = [
    ...(canMarkUnread ? [unread] : []),
    {
      icon: isMuted ? 'bell' : 'mute',
      label: t(isMuted ? 'app.rooms.unmute' : 'app.rooms.mute'),
      choose: () => void arrangeRoom(room, { isMuted: !isMuted }).catch(fail),
    },
    {
      icon: isArchived ? 'undo' : 'archive',
      label: t(isArchived ? 'app.rooms.unarchive' : 'app.rooms.archive'),
      choose: () => void archive().catch(fail),
    },
  ]
  return <RowMenu label={t('app.rooms.menu', { name })} items={items} />
}

/** Shows the last message with its author and time, as far as it can be decrypted. */
function LastMessageLine({ last: { author, model, text, createdAt } }: { last: LastMessage }) {
  const { data: models = [] } = useModels()
  const name = model === null ? (author ?? t('app.rooms.somebody')) : findModelLabel(model, models)
  const at = new Date(createdAt)
  return (
    <span className={styles.last}>
      <span className={styles.excerpt} dir="auto">
        {text === '' ? name : `${name}: ${stripMarkdown(text.slice(0, EXCERPT_LENGTH))}`}
      </span>
      <time dateTime={createdAt} title={formatTimestamp(at)}>
        {isToday(at) ? formatTime(at) : formatShortDate(at)}
      </time>
    </span>
  )
}

const EXCERPT_LENGTH = 120

const isToday = (at: Date) => at.toDateString() === new Date().toDateString()
