import { useSuspenseQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect } from 'react'
import type { KeychainEntry, KeychainKey } from '../../browser/crypto/own.ts'
import { forgetKeys } from '../../browser/keystore.ts'
import { api, type Connection, queryClient } from './api/client.ts'
import { dropClosingGuards } from './closing-guard.ts'
import { type ConversationKey, findPasskeyKey, KeysLocked, openConversationKey } from './conversation-key.ts'
import { announcePerson, onOtherPerson } from './person-change.ts'

interface SessionKeys {
  passkeyKey: KeychainKey
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
  get passkeyKey(): KeychainKey {
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
  useReloadForOthers(data.connection.userinfo?.id)
  return <SessionContext value={data}>{children}</SessionContext>
}

/** Reloads the page when somebody else has signed in, or when the person has signed out or locked the keys. */
function useReloadForOthers(person: number | undefined): void {
  useEffect(() => {
    const stopListening = onOtherPerson(person, reloadPage)
    const check = () => {
      if (!document.hidden) confirmPerson(person).catch(ignoreFailure)
    }
    document.addEventListener('visibilitychange', check)
    return () => {
      stopListening()
      document.removeEventListener('visibilitychange', check)
    }
  }, [person])
}

/** The page compares again when it is shown the next time. */
const ignoreFailure = () => {}

/** The person whom the page was opened for. */
let openedFor: number | undefined

/** Returns true if the person of the page is signed in, and reloads it if somebody else is. */
export async function confirmPerson(person = openedFor): Promise<boolean> {
  const { connectionType, userinfo } = await api.connections.get.query({ id: brand })
  if (connectionType !== 'internal_authenticated') return false
  if (userinfo?.id !== person) reloadPage()
  return userinfo?.id === person
}

async function openSession(): Promise<Session> {
  const [connection, { items }, { role }] = await Promise.all([
    api.connections.get.query({ id: brand }),
    api.userKeychainValues.list.query({}),
    api.users.me.query({}),
  ])
  const person = connection.userinfo?.id
  if (openedFor !== undefined && person !== openedFor) return waitForReload()
  openedFor = person
  announcePerson(person ?? null)
  return new Session(connection, role === 'admin', await openKeys(connection, items))
}

async function openKeys(connection: Connection, keychain: readonly KeychainEntry[]): Promise<SessionKeys | undefined> {
  const passkeyKey = await findPasskeyKey(connection)
  const conversationKey = passkeyKey && (await openConversationKey(passkeyKey, keychain))
  return conversationKey && { passkeyKey, conversationKey }
}

/** Reloads the page even while an answer runs, as nothing decrypted may outlast its person. */
function reloadPage(): void {
  dropClosingGuards()
  location.reload()
}

/** Reloads the page. The promise never resolves, so that no data of one person meets keys of another. */
function waitForReload(): Promise<never> {
  reloadPage()
  return new Promise(() => {})
}

/** Reads the session again after it has changed. */
export const refreshSession = () => queryClient.invalidateQueries({ queryKey: ['session'] })

/** Locks the keys in this browser until the passphrase is entered again. */
export async function lockKeys(): Promise<void> {
  await forgetKeys()
  announcePerson(null)
  await refreshSession()
}

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('There is no session here.')
  return session
}
