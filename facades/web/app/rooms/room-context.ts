import { createContext, useCallback, useContext, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { type ChatModel, findModelLabel, useModels } from '../shared/models/models.ts'
import { type Session, useSession } from '../shared/session.tsx'
import { nameAssistant, useRoomAssistants } from './room-assistants.ts'
import { RoomSearch } from './room-search.ts'
import { RoomStore, type RoomView } from './room-store.ts'

interface RoomState {
  session: Session
  store: RoomStore
  /** Searches the whole history of the room. */
  search: RoomSearch
  /** Returns the label of a model, or the name of the assistant that was asked, as in `helper@3`. */
  getModelName: (modelId: string, assistant?: string | null) => string
  /** Opens a thread beside the room, or closes it. */
  showThread: (id: string | undefined) => void
}

const RoomContext = createContext<RoomState | undefined>(undefined)

export const RoomProvider = RoomContext.Provider

/** Returns the room that is shown. Its changing parts are read with `useRoomView`. */
export function useRoom(): RoomState {
  const state = useContext(RoomContext)
  if (!state) throw new Error('There is no room here.')
  return state
}

/** Returns a part of the room, and renders the component again only when that part changes. */
export function useRoomView<Part>(select: (view: RoomView) => Part): Part {
  const { store } = useRoom()
  return useSyncExternalStore(store.subscribe, () => select(store.view))
}

const noModels: readonly ChatModel[] = []

const openRoom = (session: Session, slug: string) => ({
  store: new RoomStore(session, slug),
  search: new RoomSearch(),
})

/** Opens a room while the component is mounted. */
export function useOpenRoom(slug: string, showThread: RoomState['showThread']): RoomState {
  const session = useSession()
  const [{ store, search }, setOpened] = useState(() => openRoom(session, slug))
  useEffect(() => {
    const room = openRoom(session, slug)
    setOpened(room)
    void room.store.start()
    return () => {
      room.store.stop()
      room.search.forget()
    }
  }, [session, slug])
  const { data: models = noModels } = useModels()
  const assistants = useRoomAssistants()
  const getModelName = useCallback(
    (modelId: string, assistant: string | null = null) =>
      assistant === null ? findModelLabel(modelId, models) : nameAssistant(assistant, assistants),
    [models, assistants],
  )
  return useMemo(
    () => ({ session, store, search, getModelName, showThread }),
    [session, store, search, getModelName, showThread],
  )
}
