import { type RefObject, useLayoutEffect, useRef, useState } from 'react'

/** The most messages in the document, and the messages that are added at once. */
const [WINDOW_SIZE, STEP] = [150, 50]
/** The number of messages from which the way to their beginning is long. */
const LONG = 20

/** The place of the window: at the newest messages, at the first ones, or so many before one of them. */
type Place = 'newest' | 'beginning' | { id: string; before: number }

/** The earlier messages, which are read on demand. */
export interface EarlierMessages {
  hasMore: boolean
  isReading: boolean
  error: unknown
  read: () => Promise<unknown>
  readAll: () => Promise<unknown>
}

interface WindowOptions {
  /** The ids of the loaded messages, which are those of their elements. */
  ids: readonly string[]
  earlier: EarlierMessages
  scroller: RefObject<HTMLElement | null>
}

/** Selects the messages that are in the document. A reader stays at the same message when others are added or removed. */
export function useMessageWindow({ ids, earlier, scroller }: WindowOptions) {
  const [place, setPlace] = useState<Place>('newest')
  const newestStart = Math.max(0, ids.length - WINDOW_SIZE)
  const start = findStart(ids, place, newestStart)
  const end = start + WINDOW_SIZE
  useKeepInPlace(ids[start], scroller)
  const wantedId = useRef<string>(undefined)
  useLayoutEffect(() => {
    const element = findElement(wantedId.current)
    if (!element) return
    wantedId.current = undefined
    element.scrollIntoView({ block: 'center' })
  })
  const scrollToStart = () => scroller.current?.scrollTo({ top: 0 })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the beginning is shown once for each choice.
  useLayoutEffect(() => {
    if (place === 'beginning') scrollToStart()
  }, [place])
  return {
    start,
    end,
    isNewest: start >= newestStart,
    hasEarlier: earlier.hasMore || start > 0,
    isLong: earlier.hasMore || ids.length > LONG,
    showEarlier: () => {
      const id = ids[start]
      if (id !== undefined) setPlace({ id, before: STEP })
      if (start < STEP && earlier.hasMore) void earlier.read()
    },
    showLater: () => {
      const id = ids[start + STEP]
      if (id !== undefined) setPlace({ id, before: 0 })
    },
    showNewest: () => setPlace('newest'),
    /** Shows a message with some before it, and scrolls to it once it is in the document. */
    show: (id: string) => {
      wantedId.current = id
      setPlace({ id, before: STEP })
    },
    showBeginning: async () => {
      await earlier.readAll()
      setPlace('beginning')
      scrollToStart()
    },
  }
}

function findStart(ids: readonly string[], place: Place, newestStart: number): number {
  if (place === 'newest') return newestStart
  if (place === 'beginning') return 0
  const index = ids.indexOf(place.id)
  return index === -1 ? newestStart : Math.min(newestStart, Math.max(0, index - place.before))
}

/** Keeps the messages in place when the first one in the document changes. */
function useKeepInPlace(firstId: string | undefined, scroller: RefObject<HTMLElement | null>): void {
  const shownId = useRef<string>(undefined)
  const anchor = useRef<{ element: HTMLElement; top: number }>(undefined)
  // The document still has the elements of the last rendering here.
  if (firstId !== shownId.current) {
    const element = findElement(firstId) ?? findElement(shownId.current)
    anchor.current = element && { element, top: element.getBoundingClientRect().top }
  }
  useLayoutEffect(() => {
    const { current: box } = scroller
    if (anchor.current && box) {
      const { element, top } = anchor.current
      if (element.isConnected) box.scrollTop += element.getBoundingClientRect().top - top
    }
    anchor.current = undefined
    shownId.current = firstId
  }, [firstId, scroller])
}

const findElement = (id: string | undefined): HTMLElement | undefined =>
  (id === undefined ? null : document.getElementById(id)) ?? undefined
