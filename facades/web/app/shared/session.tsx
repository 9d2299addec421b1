import { useSuspenseQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext } from 'react'
import type { Key } from '../../browser/crypto.ts'
import { api, type Connection, queryClient } from './api/client.ts'
import { type ConversationKey, findPasskeyKey, KeysLocked, openConversationKey } from './conversation-key.ts'

interface SessionKeys {
  passkeyKey: Key
  conversationKey: ConversationKey
}

/**
 * The person who is signed in, with their keys if this browser has them. Reading a missing key throws, which leads to
 * the page for the passkey.
 */
export class Session {
  readonly connection: Connection
  readonly isAdministrator: boolean
  readonly #keys: SessionKeys | undefined

  constructor(connection: Connection, isAdministrator: boolean, keys: SessionKeys | undefined) {
    this.connection = connection
    this.isAdministrator = isAdministrator
    this.#keys = keys
  }

  get isLocked(): boolean {
    return this.#keys === undefined
  }

  /** The key that decrypts the keychain. */
  get passkeyKey(): Key {
    return this.#requireKeys().passkeyKey
  }

  get conversationKey(): ConversationKey {
    return this.#requireKeys().conversationKey
  }

  #requireKeys(): SessionKeys {
    if (!this.#keys) throw new KeysLocked()
    return this.#keys
  }
}

const SessionContext = createContext<Session | undefined>(undefined)

const { brand = '' } = document.documentElement.dataset

/** Provides the session, and suspends its children until the session is read. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const { data } = useSuspenseQuery({
    queryKey: ['session'],
    queryFn: openSession,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return <SessionContext value={data}>{children}</SessionContext>
}

async function openSession(): Promise<Session> {
  const [connection, { items }, { role }] = await Promise.all([
    api.connections.get.query({ id: brand }),
    api.userKeychainValues.list.query({}),
    api.users.me.query({}),
  ])
  const passkeyKey = await findPasskeyKey(connection)
  const conversationKey = passkeyKey && (await openConversationKey(passkeyKey, items))
  return new Session(connection, role === 'admin', conversationKey && { passkeyKey, conversationKey })
}

/** Reads the session again after it has changed. */
export const refreshSession = () => queryClient.invalidateQueries({ queryKey: ['session'] })

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('There is no session here.')
  return session
}
