import { useEffect, useSyncExternalStore } from 'react'
import { api, type Conversation } from '../shared/api/client.ts'
import { refreshConversations } from './conversations.ts'

/** For so long what was deleted is offered back. */
const OFFERED_MS = 10_000

const SLOT = 'svc:discarded'

/** A conversation that was deleted a moment ago. */
interface Discarded {
  slug: string
  name: string
  until: number
}

const listeners = new Set<() => void>()
let latest = read()

/** Also what was deleted before the page was loaded anew. */
function read(): Discarded | undefined {
  const text = sessionStorage.getItem(SLOT)
  const discarded = text === null ? undefined : (JSON.parse(text) as Discarded)
  return discarded && discarded.until > Date.now() ? discarded : undefined
}

function write(discarded: Discarded | undefined): void {
  latest = discarded
  if (discarded) sessionStorage.setItem(SLOT, JSON.stringify(discarded))
  else sessionStorage.removeItem(SLOT)
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export async function discardConversation({ slug, name }: Conversation): Promise<void> {
  await api.conversations.discard.mutate({ slug })
  write({ slug, name, until: Date.now() + OFFERED_MS })
  await refreshConversations()
}

export async function restoreConversation({ slug }: Discarded): Promise<void> {
  await api.conversations.restore.mutate({ slug })
  write(undefined)
  await refreshConversations()
}

/** What was deleted last, as long as it is offered back. */
export function useDiscarded(): Discarded | undefined {
  const discarded = useSyncExternalStore(subscribe, () => latest)
  useEffect(() => {
    if (!discarded) return
    const timer = setTimeout(() => write(undefined), discarded.until - Date.now())
    return () => clearTimeout(timer)
  }, [discarded])
  return discarded
}
