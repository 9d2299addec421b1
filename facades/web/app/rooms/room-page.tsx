import { lazy, Suspense, useCallback, useEffect, useState } from 'react'
import { useIsOnline } from '../shared/online.ts'
import { t } from '../shared/text/labels.ts'
import { inviteWaiting } from './invitations.ts'
import { useHere, useWhoTypes } from './presence.ts'
import { relatedId } from './room.ts'
import { RoomComposer } from './room-composer.tsx'
import { RoomProvider, useOpenRoom, useRoom, useRoomView } from './room-context.ts'
import { RoomHead } from './room-head.tsx'
import { memberName } from './room-members.ts'
import { RoomMessages, RoomWaiting } from './room-messages.tsx'
import './rooms.css'

const MembersPanel = lazy(async () => ({ default: (await import('./members-panel.tsx')).MembersPanel }))
const ThreadPanel = lazy(async () => ({ default: (await import('./thread-panel.tsx')).ThreadPanel }))
const SearchPanel = lazy(async () => ({ default: (await import('./search-panel.tsx')).SearchPanel }))
type Panel = { kind: 'members' | 'search' } | { kind: 'thread'; id: string } | undefined

/** A room, with what stands beside it. */
export function RoomPage({ slug }: { slug: string }) {
  const [panel, setPanel] = useState<Panel>()
  const showThread = useCallback(
    (id: string | undefined) => setPanel(id === undefined ? undefined : { kind: 'thread', id }),
    [],
  )
  return (
    <RoomProvider value={useOpenRoom(slug, showThread)}>
      <OpenedRoom slug={slug} panel={panel} setPanel={setPanel} />
    </RoomProvider>
  )
}

interface OpenedRoomProps {
  slug: string
  panel: Panel
  setPanel: (panel: Panel) => void
}

function OpenedRoom({ slug, panel, setPanel }: OpenedRoomProps) {
  const { session, store } = useRoom()
  const [wanted, setWanted] = useState<{ id: string }>()
  const here = useHere(session, slug)
  const close = () => setPanel(undefined)
  const isAdmin = useRoomView(({ room }) => room?.role === 'admin')
  const isOpen = useRoomView(({ phase }) => phase === 'open')
  useEffect(() => {
    const { room } = store.view
    if (room && isAdmin) inviteWaiting(session, room).catch(() => {})
  }, [session, store, isAdmin])
  return (
    <main id="main" className={panel ? 'chat room-page with-panel' : 'chat room-page'}>
      <RoomHead here={here} show={(kind) => setPanel(panel?.kind === kind ? undefined : { kind })} />
      {isOpen ? <RoomMessages wanted={wanted} /> : <RoomWaiting />}
      {isOpen && (
        <div className="room-foot">
          <Standing slug={slug} />
          <RoomComposer thread={null} />
        </div>
      )}
      {isOpen && panel && (
        <Suspense>
          {panel.kind === 'members' && <MembersPanel here={here} close={close} />}
          {panel.kind === 'thread' && <ThreadPanel id={panel.id} close={close} />}
          {panel.kind === 'search' && <SearchPanel choose={(id) => setWanted({ id })} close={close} />}
        </Suspense>
      )}
    </main>
  )
}

/** Says in one line how the room is: who writes, whether it gets new keys, whether there is a connection. */
function Standing({ slug }: { slug: string }) {
  const { session } = useRoom()
  const isRekeying = useRoomView(({ room }) => room?.rekeyRequired ?? false)
  const members = useRoomView((view) => view.members)
  const messages = useRoomView((view) => view.messages)
  const typing = useWhoTypes(session, slug)
  const isOnline = useIsOnline()
  const writers = [...members.values()].filter((member) => {
    const since = typing.get(relatedId(member, 'user') ?? '')
    const last = messages.findLast((each) => each.member === member.id)
    return since !== undefined && !(last && Date.parse(last.createdAt) > since)
  })
  const text = () => {
    if (!isOnline) return ''
    if (isRekeying) return t('app.rooms.newKeys')
    if (writers.length === 0) return ''
    if (writers.length > MANY) return t('app.rooms.manyType')
    return t('app.rooms.types', { count: writers.length, names: writers.map(memberName).join(', ') })
  }
  return (
    <p className="standing hint" role="status">
      {text()}
    </p>
  )
}

const MANY = 3
