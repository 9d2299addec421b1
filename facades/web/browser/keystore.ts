import type { KeychainKey } from './crypto/wrapping.ts'

/** Identifies the owner of a key: the text changes with the account and with its public key. */
type Owner = string

interface StoredKey {
  owner: Owner
  key: KeychainKey
}

const [database, store, slot] = ['svc', 'keys', 'passkey']

/** Stores the derived key for the other pages of a session, as a key that no script can export. */
export async function storeKey(owner: Owner, key: KeychainKey): Promise<void> {
  const { extractable } = 'wrapping' in key ? key.key : key
  if (extractable) throw new TypeError('Only a key that cannot be exported may be stored.')
  await runInStore<IDBValidKey>('readwrite', (keys) => keys.put({ owner, key } satisfies StoredKey, slot))
}

/** The stored key of this owner; deletes a key of any other owner. */
export async function findKey(owner: Owner): Promise<KeychainKey | undefined> {
  const stored = await runInStore<StoredKey | undefined>('readonly', (keys) => keys.get(slot))
  if (stored?.owner === owner) return stored.key
  if (stored) await forgetKeys()
  return undefined
}

export async function forgetKeys(): Promise<void> {
  await runInStore<undefined>('readwrite', (keys) => keys.clear())
}

/** Runs a request in a transaction, and resolves when the transaction has been committed. */
async function runInStore<T>(
  mode: IDBTransactionMode,
  createRequest: (keys: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const db = await open()
  try {
    const transaction = db.transaction(store, mode)
    const request = createRequest(transaction.objectStore(store))
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
