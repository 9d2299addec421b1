import type { KeychainKey } from './crypto/wrapping.ts'

/** Identifies the owner of a key: the text changes with the account and with its public key. */
type Owner = string

interface StoredKey {
  owner: Owner
  key: KeychainKey
}

const [database, store, slot] = ['svc', 'keys', 'passkey']

/** A browser can leave a request unanswered for ever when its files are damaged. */
const OPEN_TIMEOUT_MS = 10_000

/** The store of this browser cannot be opened, or its content is damaged. */
export class KeyStoreFailure extends Error {
  override readonly name = 'KeyStoreFailure'

  constructor(cause?: unknown) {
    super('The store for keys cannot be read.', { cause })
  }
}

/** Stores the derived key for the other pages of a session, as a key that no script can export. */
export async function storeKey(owner: Owner, key: KeychainKey): Promise<void> {
  const { extractable } = 'wrapping' in key ? key.key : key
  if (extractable) throw new TypeError('Only a key that cannot be exported may be stored.')
  await runInStore<IDBValidKey>('readwrite', (keys) => keys.put({ owner, key } satisfies StoredKey, slot))
}

/** The stored key of this owner; deletes a key of any other owner. */
export async function findKey(owner: Owner): Promise<KeychainKey | undefined> {
  const stored = await runInStore<StoredKey | undefined>('readonly', (keys) => keys.get(slot))
  if (stored === undefined) return undefined
  if (!isStoredKey(stored)) throw new KeyStoreFailure()
  if (stored.owner === owner) return stored.key
  await forgetKeys()
  return undefined
}

const isStoredKey = (stored: Partial<StoredKey> | null): stored is StoredKey =>
  typeof stored?.owner === 'string' && isKeychainKey(stored.key)

const isKeychainKey = (key: unknown): key is KeychainKey => isKey(key) || (isSalted(key) && isKey(key.key))

const isKey = (key: unknown) => key instanceof CryptoKey && key.usages.includes('decrypt')

const isSalted = (key: unknown): key is { key: unknown; wrapping: string } =>
  typeof key === 'object' && key !== null && 'key' in key && 'wrapping' in key && typeof key.wrapping === 'string'

/** Deletes the stored key, and the whole store if that is damaged. */
export async function forgetKeys(): Promise<void> {
  await runInStore<undefined>('readwrite', (keys) => keys.clear()).catch(deleteStore)
}

/** Deletes the store, so that the next key begins a new one. */
export async function deleteStore(): Promise<void> {
  await waitFor(() => indexedDB.deleteDatabase(database))
}

/** Runs a request in a transaction, and resolves when the transaction has been committed. */
async function runInStore<T>(
  mode: IDBTransactionMode,
  createRequest: (keys: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const db = await waitFor(openDatabase)
  try {
    const transaction = db.transaction(store, mode)
    const request = createRequest(transaction.objectStore(store))
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
    })
    return request.result
  } catch (error) {
    throw new KeyStoreFailure(error)
  } finally {
    db.close()
  }
}

function openDatabase(): IDBOpenDBRequest {
  const request = indexedDB.open(database, 1)
  request.onupgradeneeded = () => request.result.createObjectStore(store)
  return request
}

/** Waits for a request about the whole store; `indexedDB` itself is missing or throws where a browser forbids it. */
async function waitFor(createRequest: () => IDBOpenDBRequest): Promise<IDBDatabase> {
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    return await new Promise((resolve, reject) => {
      const request = createRequest()
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
      timer = setTimeout(reject, OPEN_TIMEOUT_MS)
    })
  } catch (error) {
    throw new KeyStoreFailure(error)
  } finally {
    clearTimeout(timer)
  }
}
