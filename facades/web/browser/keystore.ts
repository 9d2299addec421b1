import type { Key } from './seal.ts'

/** Whose key, and of which keychain: a text that changes with the account, its public key or its session. */
type Owner = string

interface Kept {
  owner: Owner
  key: Key
}

const [database, store, slot] = ['svc', 'keys', 'passkey']

/** Keeps the derived key across the pages of a session. Nobody can read its bytes, this code included. */
export async function keep(owner: Owner, key: Key): Promise<void> {
  if (key.extractable) throw new TypeError('Only a key that cannot be exported may be kept.')
  await inStore<IDBValidKey>('readwrite', (keys) => keys.put({ owner, key } satisfies Kept, slot))
}

/** The kept key of this owner. A key of anybody else is forgotten on the way. */
export async function find(owner: Owner): Promise<Key | undefined> {
  const kept = await inStore<Kept | undefined>('readonly', (keys) => keys.get(slot))
  if (kept?.owner === owner) return kept.key
  if (kept) await forget()
  return undefined
}

export async function forget(): Promise<void> {
  await inStore<undefined>('readwrite', (keys) => keys.clear())
}

/** Settles when the transaction is through, not when the request is. */
async function inStore<T>(mode: IDBTransactionMode, ask: (keys: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const db = await open()
  try {
    const transaction = db.transaction(store, mode)
    const request = ask(transaction.objectStore(store))
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
    })
    return request.result
  } finally {
    db.close()
  }
}

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(database, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(store)
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
