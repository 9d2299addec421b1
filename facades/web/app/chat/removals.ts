import { useEffect, useSyncExternalStore } from 'react'
import { api, type Conversation, queryClient } from '../shared/api/client.ts'
import { Listeners } from '../shared/listeners.ts'
import { writeStored } from '../shared/local-store.ts'
import { getConversationQueryKey, refreshConversations } from './conversations.ts'

/** Milliseconds for which a removal can be undone. */
const UNDO_MS = 10_000

const STORAGE_KEY = 'svc:removal'

/** Conversations that the person has just deleted or archived. */
export interface Removal {
  kind: 'deleted' | 'archived'
  slugs: readonly string[]
  /** The name of the only one; undefined after a reload if it is stored encrypted. */
  name?: string | undefined
  until: number
}

const listeners = new Listeners()
let lastRemoval = readRemoval()

/** Reads it from the tab's storage, so that it survives a reload, without a name that must not be stored as it is. */
function readRemoval(): Removal | undefined {
  const text = sessionStorage.getItem(STORAGE_KEY)
  const removal = text === null ? undefined : (JSON.parse(text) as Removal)
  return removal && removal.until > Date.now() ? removal : undefined
}

function writeRemoval(removal: Removal | undefined): void {
  lastRemoval = removal
  if (removal) writeStored(STORAGE_KEY, { ...removal, name: undefined }, sessionStorage)
  else sessionStorage.removeItem(STORAGE_KEY)
  listeners.notify()
}

export const discardConversations = (conversations: readonly Conversation[]): Promise<void> =>
  remove('deleted', conversations, (slugs) => api.conversations.discardSelected.mutate({ slugs }))

export const archiveConversations = (conversations: readonly Conversation[]): Promise<void> =>
  remove('archived', conversations, (slugs) => api.conversations.organizeSelected.mutate({ slugs, isArchived: true }))

type Change = (slugs: string[]) => Promise<{ slugs: string[] }>

/** Removes conversations from the list. Others that are gone already are not counted. */
async function remove(kind: Removal['kind'], conversations: readonly Conversation[], change: Change): Promise<void> {
  const { slugs } = await change(conversations.map(({ slug }) => slug))
  const [only] = conversations.length === 1 ? conversations : []
  writeRemoval({ kind, slugs, name: only?.name, until: Date.now() + UNDO_MS })
  await refresh(slugs)
}

export async function undoRemoval({ kind, slugs }: Removal): Promise<void> {
  const input = { slugs: [...slugs] }
  if (kind === 'deleted') await api.conversations.restoreSelected.mutate(input)
  else await api.conversations.organizeSelected.mutate({ ...input, isArchived: false })
  writeRemoval(undefined)
  await refresh(slugs)
}

/** Moves conversations to a folder. */
export async function moveConversations(conversations: readonly Conversation[], folder: string): Promise<void> {
  const slugs = conversations.map(({ slug }) => slug)
  await api.conversations.organizeSelected.mutate({ slugs, folder })
  await refresh(slugs)
}

export async function restoreFromArchive(conversations: readonly Conversation[]): Promise<void> {
  const slugs = conversations.map(({ slug }) => slug)
  await api.conversations.organizeSelected.mutate({ slugs, isArchived: false })
  await refresh(slugs)
}

async function refresh(slugs: readonly string[]): Promise<void> {
  await Promise.all([
    refreshConversations(),
    ...slugs.map((slug) => queryClient.invalidateQueries({ queryKey: getConversationQueryKey(slug) })),
  ])
}

/** Returns the last removal, while it can be undone. */
export function useLastRemoval(): Removal | undefined {
  const removal = useSyncExternalStore(listeners.subscribe, () => lastRemoval)
  useEffect(() => {
    if (!removal) return
    const timer = setTimeout(() => writeRemoval(undefined), removal.until - Date.now())
    return () => clearTimeout(timer)
  }, [removal])
  return removal
}
