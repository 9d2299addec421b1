import { Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { errorText } from '../shared/api/error-text.ts'
import { t } from '../shared/text/labels.ts'
import { Icon } from '../shared/ui/icon.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import { InvitationCard } from './invitation-card.tsx'
import { useLiveRooms } from './live-rooms.ts'
import { useMentions } from './mentions.ts'
import type { Room } from './room.ts'
import { refreshRooms, toggleMark, useInvitations, useMarks, useRooms } from './rooms.ts'
import './rooms.css'

const NewRoomDialog = lazy(async () => ({ default: (await import('./new-room-dialog.tsx')).NewRoomDialog }))

/** The rooms of the person, and invitations to others. */
export function RoomList({ onChoose }: { onChoose: () => void }) {
  const { data: rooms, error } = useRooms()
  const { data: invitations = [] } = useInvitations()
  const [search, setSearch] = useState('')
  const [isCreating, setCreating] = useState(false)
  const { archived } = useMarks()
  useLiveRooms(rooms)
  const wanted = search.trim().toLocaleLowerCase()
  const found = (rooms ?? []).filter(({ name }) => name.toLocaleLowerCase().includes(wanted))
  const kept = found.filter(({ id }) => !archived.includes(id))
  const aside = found.filter(({ id }) => archived.includes(id))
  return (
    <>
      <div className="conversation-search">
        <input
          type="search"
          className="text-field"
          value={search}
          maxLength={120}
          aria-label={t('app.rooms.find')}
          placeholder={t('app.rooms.find')}
          onChange={(event) => setSearch(event.target.value)}
        />
      </div>
      <nav className="conversations rooms" aria-label={t('app.rooms')}>
        <button type="button" className="quiet-button new-room" onClick={() => setCreating(true)}>
          <Icon name="plus" /> {t('app.rooms.new')}
        </button>
        {error && (
          <div className="notice wrong" role="alert">
            <p>{errorText(error)}</p>
            <button type="button" className="quiet-button" onClick={refreshRooms}>
              {t('app.tryAgain')}
            </button>
          </div>
        )}
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
        {rooms && kept.length === 0 && (
          <p className="hint">{t(wanted === '' ? 'app.rooms.none' : 'app.rooms.notFound')}</p>
        )}
        <ul>
          {kept.map((room) => (
            <RoomRow key={room.id} room={room} onChoose={onChoose} />
          ))}
        </ul>
        {aside.length > 0 && (
          <details className="archived">
            <summary>{t('app.rooms.archived', { count: aside.length })}</summary>
            <ul>
              {aside.map((room) => (
                <RoomRow key={room.id} room={room} onChoose={onChoose} />
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

function RoomRow({ room, onChoose }: { room: Room; onChoose: () => void }) {
  const { id, slug, name, unreadCount = 0 } = room
  const { muted, archived } = useMarks()
  const mentions = useMentions(id)
  const navigate = useNavigate()
  const isMuted = muted.includes(id)
  const isArchived = archived.includes(id)
  const items: MenuEntry[] = [
    {
      icon: isMuted ? 'speak' : 'mute',
      label: t(isMuted ? 'app.rooms.unmute' : 'app.rooms.mute'),
      choose: () => toggleMark('muted', id),
    },
    {
      icon: 'folder',
      label: t(isArchived ? 'app.rooms.unarchive' : 'app.rooms.archive'),
      choose: async () => {
        toggleMark('archived', id)
        if (!isArchived && location.pathname === `/rooms/${slug}`) await navigate({ to: '/rooms' })
      },
    },
  ]
  const shown = isMuted ? 0 : unreadCount
  return (
    <li className={shown > 0 ? 'unread' : undefined}>
      <Link to="/rooms/$slug" params={{ slug }} activeProps={{ 'aria-current': 'page' }} onClick={onChoose} dir="auto">
        {name}
      </Link>
      {isMuted && <Icon name="mute" />}
      {mentions > 0 && (
        <span className="count mention" title={t('app.rooms.mentions', { count: mentions })}>
          <span aria-hidden="true">@{mentions}</span>
          <span className="off-screen">{t('app.rooms.mentions', { count: mentions })}</span>
        </span>
      )}
      {shown > 0 && (
        <span className="count" title={t('app.rooms.unread', { count: shown })}>
          <span aria-hidden="true">{shown >= MANY ? `${MANY - 1}+` : shown}</span>
          <span className="off-screen">{t('app.rooms.unread', { count: shown })}</span>
        </span>
      )}
      <MenuButton
        label={t('app.rooms.menu', { name })}
        className="row-menu"
        items={items}
        note={t('app.rooms.marksHint')}
      />
    </li>
  )
}

/** The service counts no further. */
const MANY = 1000
