import { useSyncExternalStore } from 'react'
import { Listeners } from '../listeners.ts'
import { isRecord, readStored, writeStored } from '../local-store.ts'
import { useSession } from '../session.tsx'

/** The models that a person has used and marked, by their ids, which are stored in this browser. */
export interface ModelHistory {
  /** The models that were used, the last one first. */
  recent: readonly string[]
  favourites: readonly string[]
}

const MAX_RECENT = 4
const MAX_FAVOURITES = 100

const emptyHistory: ModelHistory = { recent: [], favourites: [] }

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')

const isHistory = (value: unknown): value is ModelHistory =>
  isRecord(value) && isNames(value['recent']) && isNames(value['favourites'])

const getStorageKey = (owner: string) => `svc:models:${owner}`

const listeners = new Listeners()
const cache = new Map<string, { text: string | null; history: ModelHistory }>()

/** Returns the same object until the history changes, as `useSyncExternalStore` requires. */
function readHistory(owner: string): ModelHistory {
  const storageKey = getStorageKey(owner)
  const text = localStorage.getItem(storageKey)
  const cached = cache.get(owner)
  if (cached?.text === text) return cached.history
  const history = readStored(storageKey, isHistory) ?? emptyHistory
  cache.set(owner, { text, history })
  return history
}

/** Writes the history, which stays on the page alone if the storage is full, so that a question is sent anyway. */
function writeHistory(owner: string, history: ModelHistory): void {
  const storageKey = getStorageKey(owner)
  writeStored(storageKey, history)
  cache.set(owner, { text: localStorage.getItem(storageKey), history })
  listeners.notify()
}

/** Returns the history of the person, and functions that change it. */
export function useModelHistory() {
  const owner = String(useSession().connection.userinfo?.id)
  const history = useSyncExternalStore(listeners.subscribe, () => readHistory(owner))
  const recordUse = (modelId: string) => {
    const { recent, favourites } = readHistory(owner)
    if (recent[0] === modelId) return
    const others = recent.filter((each) => each !== modelId)
    writeHistory(owner, { favourites, recent: [modelId, ...others].slice(0, MAX_RECENT) })
  }
  const toggleFavourite = (modelId: string) => {
    const { recent, favourites } = readHistory(owner)
    const others = favourites.filter((each) => each !== modelId)
    const isAdded = others.length === favourites.length
    writeHistory(owner, { recent, favourites: isAdded ? [...others, modelId].slice(-MAX_FAVOURITES) : others })
  }
  return { history, recordUse, toggleFavourite }
}
