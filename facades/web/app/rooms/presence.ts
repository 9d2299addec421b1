import { useEffect, useRef, useState } from 'react'
import type { Session } from '../shared/session.tsx'
import { getOwnId } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { openSocket, subscribeOnSocket } from './socket.ts'

/** Milliseconds between two typing events, and until one expires. */
const [SEND_INTERVAL_MS, EXPIRY_MS] = [3000, 6000]

const TYPING = 'client-typing'

interface TypingEvent {
  user?: unknown
}

interface PresentMembers {
  each: (callback: (member: { id: string }) => void) => void
}

/** Returns the ids of the users who are in the room now; undefined while unknown. */
export function usePresentUsers(session: Session, slug: string): ReadonlySet<string> | undefined {
  const [present, setPresent] = useState<ReadonlySet<string>>()
  useEffect(
    () =>
      subscribeOnSocket(session.connection, ({ pusher }) => {
        const channel = pusher.subscribe(`presence-Rooms.${slug}`)
        const update = () => {
          const ids = new Set<string>()
          const { members } = channel as unknown as { members: PresentMembers }
          members.each(({ id }) => ids.add(id))
          setPresent(ids)
        }
        const events = ['pusher:subscription_succeeded', 'pusher:member_added', 'pusher:member_removed']
        for (const event of events) channel.bind(event, update)
        return () => {
          for (const event of events) channel.unbind(event, update)
          pusher.unsubscribe(`presence-Rooms.${slug}`)
        }
      }),
    [session, slug],
  )
  return present
}

/** Returns the users who are typing, by their ids, with the time of their last typing event. */
export function useTypingUsers(session: Session, slug: string): ReadonlyMap<string, number> {
  const [typing, setTyping] = useState<ReadonlyMap<string, number>>(new Map())
  useEffect(() => {
    const timers = new Map<string, ReturnType<typeof setTimeout>>()
    const onTyping = ({ user }: TypingEvent) => {
      if (typeof user !== 'string' || user === getOwnId(session)) return
      clearTimeout(timers.get(user))
      const expire = () => {
        timers.delete(user)
        setTyping((users) => new Map([...users].filter(([id]) => id !== user)))
      }
      timers.set(user, setTimeout(expire, EXPIRY_MS))
      setTyping((users) => new Map(users).set(user, Date.now()))
    }
    const unsubscribe = subscribeOnSocket(session.connection, (socket) => {
      const channel = socket.subscribe(`private-Rooms.${slug}`)
      channel.bind(TYPING, onTyping)
      return () => {
        channel.unbind(TYPING, onTyping)
        socket.unsubscribe(`private-Rooms.${slug}`)
      }
    })
    return () => {
      unsubscribe()
      for (const timer of timers.values()) clearTimeout(timer)
    }
  }, [session, slug])
  return typing
}

/** Returns a function that tells the other members that the person is typing. */
export function useTypingSignal(): () => void {
  const { session } = useRoom()
  const sentAt = useRef(0)
  const slug = useRoomView(({ room }) => room?.slug)
  return () => {
    if (slug === undefined || Date.now() - sentAt.current < SEND_INTERVAL_MS) return
    sentAt.current = Date.now()
    openSocket(session.connection).then(
      ({ pusher }) => void pusher.channel(`private-Rooms.${slug}`)?.trigger(TYPING, { user: getOwnId(session) }),
      () => {},
    )
  }
}
