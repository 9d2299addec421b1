import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { api } from '../shared/api/client.ts'
import { getRelatedId } from '../shared/api/related.ts'
import { useRoomView } from './room-context.ts'
import type { RoomMessage } from './room-message.ts'

/** A message that is shown and marked, chosen by a search, a link or a button. It is a new object for each choice. */
export interface TargetMessage {
  id: string
  /** The message that it replies to. */
  thread: string | null
}

/**
 * Returns the address of a message: `?message=12`, or `?message=12-3` for a reply. It is no fragment, because a sign-in
 * would lose that.
 */
export function getMessageAddress(slug: string, { seq, subSeq }: Pick<RoomMessage, 'seq' | 'subSeq'>): string {
  const url = new URL(`/rooms/${slug}`, location.origin)
  url.searchParams.set('message', subSeq === 0 ? `${seq}` : `${seq}-${subSeq}`)
  return url.href
}

/** Reads the number of the message that an address leads to, as the service writes it: `12.003`. */
function readMessageNumber(search: string): string | undefined {
  const [, seq, subSeq = ''] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(new URLSearchParams(search).get('message') ?? '') ?? []
  return seq && `${seq}.${subSeq.padStart(3, '0')}`
}

/** Finds the message that the address leads to, once for each address, and shows it or reports why it cannot. */
export function useLinkedMessage(show: (target: TargetMessage) => void, fail: (error: unknown) => void): void {
  const number = useLocation({ select: ({ searchStr }) => readMessageNumber(searchStr) })
  const room = useRoomView(({ phase, room }) => (phase === 'open' ? room?.id : undefined))
  const latest = useRef({ show, fail })
  latest.current = { show, fail }
  useEffect(() => {
    if (number === undefined || room === undefined) return
    let isLeft = false
    api.roomMessages.find.query({ room, number }).then(
      (found) => !isLeft && latest.current.show({ id: found.id, thread: getRelatedId(found, 'thread') }),
      (error: unknown) => !isLeft && latest.current.fail(error),
    )
    return () => {
      isLeft = true
    }
  }, [room, number])
}
