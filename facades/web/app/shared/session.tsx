import { useSuspenseQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import { api, type Connection, queryClient } from './api/client.ts'
import { type ConversationKey, Locked, openConversationKey } from './crypto/conversation-key.ts'

/** Who is signed in, and the key of their conversations where this browser has it. */
class Session {
  readonly connection: Connection
  readonly #key: ConversationKey | undefined

  constructor(connection: Connection, key: ConversationKey | undefined) {
    this.connection = connection
    this.#key = key
  }

  get isLocked(): boolean {
    return this.#key === undefined
  }

  /** What needs it and finds it locked gives way to the page where the passkey is entered. */
  get conversationKey(): ConversationKey {
    if (!this.#key) throw new Locked()
    return this.#key
  }
}

const SessionContext = createContext<Session | undefined>(undefined)

const { brand = '' } = document.documentElement.dataset

/** What is inside waits until it is known who is signed in. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const { data } = useSuspenseQuery({
    queryKey: ['session'],
    queryFn: openSession,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return <SessionContext value={data}>{children}</SessionContext>
}

async function openSession(): Promise<Session> {
  const [connection, { items }] = await Promise.all([
    api.connections.get.query({ id: brand }),
    api.userKeychainValues.list.query({}),
  ])
  return new Session(connection, await openConversationKey(connection, items))
}

/** Reads again who is signed in, after they changed. */
export const refreshSession = () => queryClient.invalidateQueries({ queryKey: ['session'] })

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('There is no session here.')
  return session
}
