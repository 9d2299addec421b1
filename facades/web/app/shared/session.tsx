import { useSuspenseQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import { api, type Connection } from './api/client.ts'
import { type ConversationKey, openConversationKey } from './crypto/conversation-key.ts'

interface Session {
  connection: Connection
  conversationKey: ConversationKey
}

const SessionContext = createContext<Session | undefined>(undefined)

const { brand = '' } = document.documentElement.dataset

/** Who is signed in, and the key of their conversations; what is inside waits for both. */
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
  return { connection, conversationKey: await openConversationKey(connection, items) }
}

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('There is no session here.')
  return session
}
