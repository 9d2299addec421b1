import { Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { findModelLabel, useModels } from '../shared/models/models.ts'
import { useSession } from '../shared/session.tsx'
import { stripMarkdown } from '../shared/text/excerpt.ts'
import { formatShortDate, formatTime, formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage, InlineError } from '../shared/ui/error-message.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import { ListFailure, ListSearch } from '../shared/ui/side-list.tsx'
import { acceptInvitation } from './invitations.ts'
import { useMentions } from './mentions.ts'
import { type Member, type Room, roleLabels } from './room.ts'
import {
  arrangeRoom,
  endMembership,
  type LastMessage,
  refreshRooms,
  useInvitations,
  useLastMessages,
  useRooms,
} from './rooms.ts'
import { Count } from './rooms-count.tsx'
import './rooms.css'

const NewRoomDialog = lazy(async () => ({ default: (await import('./new-room-dialog.tsx')).NewRoomDialog }))

/** The rooms of the person, and the invitations to others. */
export function RoomList({ onChoose }: { onChoose: () => void }) {
  const { data: rooms, error } = useRooms()
  const { data: invitations = [] } = useInvitations()
  const [search, setSearch] = useState('')
  const [isCreating, setCreating] = useState(false)
  const session = useSession()
  const { data: last } = useLastMessages(session, rooms)
  const needle = search.trim().toLocaleLowerCase()
  const matches = (rooms ?? []).filter(({ name }) => name.toLocaleLowerCase().includes(needle))
  const getLastActivity = (room: Room) => last?.get(room.id)?.createdAt ?? room.createdAt
  const sorted = matches.toSorted((one, other) => getLastActivity(other).localeCompare(getLastActivity(one)))
  const active = sorted.filter(({ isArchived }) => !isArchived)
  const archived = sorted.filter(({ isArchived }) => isArchived)
  return (
    <>
      <div className="conversation-search">
        <ListSearch label={t('app.rooms.find')} text={search} search={setSearch} />
      </div>
      <nav className="conversations rooms" aria-label={t('app.rooms')}>
        <button type="button" className="quiet-button new-room" onClick={() => setCreating(true)}>
          <Icon name="plus" /> {t('app.rooms.new')}
        </button>
        {error && <ListFailure error={error} read={refreshRooms} />}
        {invitations.length > 0 && (
          <section>
            <h2>{t('app.invitations')}</h2>
            <ul className="invitations">
              {invitations.map((each) => (
                <InvitationCard key={each.id} invitation={each} onChoose={onChoose} />
              ))}
            </ul>
          </section>
        )}
        {rooms && active.length === 0 && (
          <p className="hint">{t(needle === '' ? 'app.rooms.none' : 'app.rooms.notFound')}</p>
        )}
        <ul>
          {active.map((room) => (
            <RoomRow key={room.id} room={room} last={last?.get(room.id)} onChoose={onChoose} />
          ))}
        </ul>
        {archived.length > 0 && (
          <details className="archived">
            <summary>{t('app.rooms.archived', { count: archived.length })}</summary>
            <ul>
              {archived.map((room) => (
                <RoomRow key={room.id} room={room} last={last?.get(room.id)} onChoose={onChoose} />
              ))}
            </ul>
          </details>
        )}
      </nav>
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
    <li className="invitation">
      <strong dir="auto">{roomName}</strong>
      <span className="hint">
        {t('app.invitations.from', { name: inviterName, role: t(roleLabels[role]) })}
        {expiresAt !== undefined && ` ${t('app.invitations.until', { at: formatTimestamp(new Date(expiresAt)) })}`}
      </span>
      {typeof state === 'object' && <ErrorMessage error={state.error} />}
      <span className="actions">
        <button
          type="button"
          className="quiet-button"
          disabled={isWorking}
          onClick={() => run(() => endMembership(invitation))}
        >
          {t('app.invitations.decline')}
        </button>
        <button type="button" className="button" disabled={isWorking} onClick={() => run(accept)}>
          {t('app.invitations.accept')}
        </button>
      </span>
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
    <li className={unread > 0 ? 'unread' : undefined}>
      <Link to="/rooms/$slug" params={{ slug }} activeProps={{ 'aria-current': 'page' }} onClick={onChoose}>
        {avatar && <img className="room-picture" src={`/proxy/storage/${avatar}`} alt="" />}
        <span className="room-row">
          <span className="room-name" dir="auto">
            {name}
          </span>
          {last && <LastMessageLine last={last} />}
          <InlineError error={error} />
        </span>
      </Link>
      {isMuted && <Icon name="mute" />}
      <Count label={t('app.rooms.mentions', { count: mentions })} count={mentions} isMention />
      <Count label={t('app.rooms.unread', { count: unread })} count={unread} />
      <RoomMenu room={room} fail={setError} />
    </li>
  )
}

/** The menu that mutes or archives a room. */
function RoomMenu({ room, fail }: { room: Room; fail: (error: unknown) => void }) {
  const { slug, name, isMuted = false, isArchived = false } = room
  const navigate = useNavigate()
  const archive = async () => {
    await arrangeRoom(room, { isArchived: !isArchived })
    if (!isArchived && location.pathname === `/rooms/${slug}`) await navigate({ to: '/rooms' })
  }
  const items: MenuEntry[] = [
    {
      icon: isMuted ? 'speak' : 'mute',
      label: t(isMuted ? 'app.rooms.unmute' : 'app.rooms.mute'),
      choose: () => void arrangeRoom(room, { isMuted: !isMuted }).catch(fail),
    },
    {
      icon: 'folder',
      label: t(isArchived ? 'app.rooms.unarchive' : 'app.rooms.archive'),
      choose: () => void archive().catch(fail),
    },
  ]
  return <MenuButton label={t('app.rooms.menu', { name })} className="row-menu" items={items} />
}

/** Shows the last message with its author and time, as far as it can be decrypted. */
function LastMessageLine({ last: { author, model, text, createdAt } }: { last: LastMessage }) {
  const { data: models = [] } = useModels()
  const name = model === null ? (author ?? t('app.rooms.somebody')) : findModelLabel(model, models)
  const at = new Date(createdAt)
  return (
    <span className="hint last-message">
      <span className="last-text" dir="auto">
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
