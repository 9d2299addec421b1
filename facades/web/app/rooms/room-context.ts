import { createContext, useCallback, useContext, useEffect, useState, useSyncExternalStore } from 'react'
import { type ChatModel, modelLabel, useModels } from '../shared/models/models.ts'
import { type Session, useSession } from '../shared/session.tsx'
import { OpenRoom, type RoomView } from './open-room.ts'
import { type Member, ownId, relatedId } from './room.ts'

interface RoomState {
  session: Session
  store: OpenRoom
  view: RoomView
  /** The membership of the person. */
  own: Member | undefined
  /** What people call a model. */
  modelName: (modelId: string) => string
  /** Shows a thread beside the room, or nothing. */
  showThread: (id: string | undefined) => void
}

const RoomContext = createContext<RoomState | undefined>(undefined)

export const RoomProvider = RoomContext.Provider

export function useRoom(): RoomState {
  const state = useContext(RoomContext)
  if (!state) throw new Error('There is no room here.')
  return state
}

const noModels: readonly ChatModel[] = []

/** Opens a room as long as it is looked at. */
export function useOpenRoom(slug: string): Omit<RoomState, 'showThread'> {
  const session = useSession()
  const [store, setStore] = useState(() => new OpenRoom(session, slug))
  useEffect(() => {
    const opened = new OpenRoom(session, slug)
    setStore(opened)
    void opened.start()
    return () => opened.stop()
  }, [session, slug])
  const view = useSyncExternalStore(store.subscribe, () => store.view)
  const id = ownId(session)
  const own = [...view.members.values()].find((member) => relatedId(member, 'user') === id)
  const { data: models = noModels } = useModels()
  const modelName = useCallback((modelId: string) => modelLabel(modelId, models), [models])
  return { session, store, view, own, modelName }
}
