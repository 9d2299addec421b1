import { Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { t } from '../shared/text/labels.ts'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import type { MenuEntry } from '../shared/ui/menu.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import { SidebarButton } from '../shared/ui/sidebar-button.tsx'
import { canNotify, chooseNoticeLevel, type NoticeLevel, readNoticeLevel } from './notifications.ts'
import { type Room, relatedId } from './room.ts'
import { useRoomView } from './room-context.ts'
import { memberName, peopleIn } from './room-members.ts'
import { deleteRoom } from './rooms.ts'

const RoomSettingsDialog = lazy(async () => ({
  default: (await import('./room-settings-dialog.tsx')).RoomSettingsDialog,
}))

interface RoomHeadProps {
  here: ReadonlySet<string> | undefined
  show: (kind: 'members' | 'search') => void
}

/** The name of a room, who is here, and what can be done with the room. */
export function RoomHead({ here, show }: RoomHeadProps) {
  const room = useRoomView((view) => view.room)
  const description = useRoomView((view) => view.description)
  const phase = useRoomView((view) => view.phase)
  const isOpen = phase === 'open'
  return (
    <header className="chat-head">
      <SidebarButton />
      {room?.avatar && <img className="room-picture" src={`/proxy/storage/${room.avatar}`} alt="" />}
      <div className="room-title">
        <h1 dir="auto">{room?.name ?? t('app.rooms.one')}</h1>
        {isOpen && description !== '' && (
          <p className="hint" dir="auto" title={description}>
            {description}
          </p>
        )}
      </div>
      {phase === 'ended' && <Link to="/rooms">{t('app.rooms')}</Link>}
      {isOpen && room && (
        <>
          <Here here={here} />
          <IconButton icon="search" label={t('app.rooms.search')} onClick={() => show('search')} />
          <IconButton icon="people" label={t('app.rooms.members')} onClick={() => show('members')} />
          <RoomMenu room={room} />
        </>
      )}
    </header>
  )
}

function Here({ here }: { here: ReadonlySet<string> | undefined }) {
  const members = useRoomView((view) => view.members)
  const present = peopleIn(members).filter((member) => here?.has(relatedId(member, 'user') ?? ''))
  return present.length > 1 ? (
    <span className="hint here-count" title={present.map(memberName).join(', ')}>
      {t('app.rooms.here', { count: present.length })}
    </span>
  ) : null
}

function RoomMenu({ room }: { room: Room }) {
  const [asked, setAsked] = useState<'settings' | 'delete'>()
  const [level, setLevel] = useState(readNoticeLevel)
  const close = () => setAsked(undefined)
  const notices = nextLevels[level].map(
    (next): MenuEntry => ({
      icon: next === 'off' ? 'mute' : 'speak',
      label: t(next === 'on' && level === 'text' ? 'app.rooms.noticesPlain' : levelLabels[next]),
      choose: async () => setLevel(await chooseNoticeLevel(next)),
    }),
  )
  const administration: MenuEntry[] = [
    { icon: 'settings', label: t('app.rooms.settings'), choose: () => setAsked('settings') },
    { icon: 'trash', label: t('app.rooms.delete'), isDangerous: true, choose: () => setAsked('delete') },
  ]
  const items = [...(canNotify ? notices : []), ...(room.role === 'admin' ? administration : [])]
  return (
    <>
      {items.length > 0 && <MenuButton label={t('app.rooms.menu', { name: room.name })} items={items} />}
      {asked === 'settings' && (
        <Suspense>
          <RoomSettingsDialog close={close} />
        </Suspense>
      )}
      {asked === 'delete' && <DeleteDialog room={room} close={close} />}
    </>
  )
}

const nextLevels: Record<NoticeLevel, readonly NoticeLevel[]> = {
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
