import { useEffect } from 'react'
import { queryClient } from '../shared/api/client.ts'
import { followChanges } from '../shared/live.ts'
import { useSession } from '../shared/session.tsx'
import { noteArrival } from './arrivals.ts'
import type { Room } from './room.ts'
import { refreshRooms } from './rooms.ts'
import { openSocket, type Socket } from './socket.ts'

/** How often the list is read at most. */
const READ_MS = 1000
/** As many rooms are listened to at most, by one connection. */
const MOST = 60

/** Keeps the list of rooms as it is: by the person's own changes, and by what is written in each room. */
export function useLiveRooms(rooms: readonly Room[] | undefined): void {
  const session = useSession()
  useEffect(() => {
    const stop = followChanges((change) => {
      const kind = change?.kind ?? ''
      if (change === undefined || kind.startsWith('rooms.') || kind.startsWith('room-members.')) refreshSoon()
    })
    const refreshOnReturn = () => !document.hidden && refreshSoon()
    document.addEventListener('visibilitychange', refreshOnReturn)
    return () => {
      stop()
      document.removeEventListener('visibilitychange', refreshOnReturn)
    }
  }, [])
  const slugs = (rooms ?? []).slice(0, MOST).map(({ slug }) => slug)
  const names = slugs.join(' ')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rooms matter, and not the list that holds them.
  useEffect(() => {
    if (slugs.length === 0) return
    let stop = () => {}
    let isStopped = false
    openSocket(session.connection).then(
      (socket) => {
        if (!isStopped) stop = listen(socket, slugs, (slug, id) => hear(slug, id))
      },
      () => {},
    )
    const hear = (slug: string, id: string) => {
      const room = queryClient.getQueryData<Room[]>(['rooms', 'list'])?.find((each) => each.slug === slug)
      refreshSoon()
      if (room && !isLookedAt(slug)) noteArrival(session, room, id)
    }
    return () => {
      isStopped = true
      stop()
    }
  }, [session, names])
}

const isLookedAt = (slug: string) => document.hasFocus() && location.pathname === `/rooms/${slug}`

function listen(socket: Socket, slugs: readonly string[], hear: (slug: string, id: string) => void): () => void {
  const stops = slugs.map((slug) => {
    const name = `private-Rooms.${slug}`
    const channel = socket.subscribe(name)
    const changed = ({ kind, subject }: { kind: string; subject: string }) => {
      if (kind === 'room-messages.created') hear(slug, subject)
    }
    channel.bind('change', changed)
    return () => {
      channel.unbind('change', changed)
      socket.unsubscribe(name)
    }
  })
  return () => {
    for (const stop of stops) stop()
  }
}

let isWaiting = false

function refreshSoon(): void {
  if (isWaiting) return
  isWaiting = true
  setTimeout(() => {
    isWaiting = false
    void refreshRooms()
  }, READ_MS)
}
