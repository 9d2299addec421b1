import {
  importPrivateKey,
  inviteByHash,
  inviteByPublicKey,
  type Key,
  type KeychainEntry,
  type KeychainKey,
  makeKey,
  makeNextRoomKey,
  openByHash,
  openByPrivateKey,
  openStoredRoomKeys,
  type RoomKeys,
  readSealedRoomKey,
  roomKeychain,
  roomKeysIn,
  type Salts,
  unsealEntry,
  writeSealedRoomKey,
} from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import type { Session } from '../shared/session.tsx'
import { getSalts, type Room } from './room.ts'

type KeyedRoom = Pick<Room, 'id' | 'slug'>

/** The room keys of a person, from their keychain or wrapped for them by others. */
export class Keyring {
  readonly #passkeyKey: KeychainKey
  readonly #salts: Salts
  readonly #keysBySlug = new Map<string, RoomKeys>()
  #keychain: Promise<KeychainEntry[]> | undefined

  constructor(passkeyKey: KeychainKey, salts: Salts) {
    this.#passkeyKey = passkeyKey
    this.#salts = salts
  }

  /** Creates the first key of a room. */
  async createFirstKey({ slug }: Pick<Room, 'slug'>): Promise<void> {
    await this.#storeKeys(slug, new Map([[0, makeKey()]]))
  }

  /** Returns the known keys of a room, which are read on first use. */
  async getKeys(room: KeyedRoom): Promise<RoomKeys> {
    return this.#keysBySlug.get(room.slug) ?? this.readKeys(room)
  }

  /** Reads the keys that were wrapped for the person since, and stores them in the keychain. */
  async readKeys({ id, slug }: KeyedRoom): Promise<RoomKeys> {
    const storedKeys =
      this.#keysBySlug.get(slug) ?? (await roomKeysIn(this.#passkeyKey, slug, await this.#readKeychain()))
    const [privateKey, stored] = await Promise.all([this.#readPrivateKey(), readStoredKeys(id)])
    const keys = await openStoredRoomKeys(privateKey, stored, storedKeys)
    this.#keysBySlug.set(slug, storedKeys)
    const added = [...keys].filter(([keyEpoch]) => !storedKeys.has(keyEpoch))
    if (added.length > 0) await this.#storeKeys(slug, new Map(added))
    return this.#keysBySlug.get(slug) ?? keys
  }

  /** Creates the next key of a room. The service answers with a conflict if somebody else has just done so. */
  async rotateKey({ id, slug, keyEpoch }: KeyedRoom & { keyEpoch: number }): Promise<void> {
    const keys = await this.getKeys({ id, slug })
    const { meta } = await api.roomKeys.recipients.query({ id })
    // Somebody else has rotated the key since the room was read.
    if (meta.keyEpoch !== keyEpoch + 1) return
    const { roomKey, request } = await makeNextRoomKey(meta, keys)
    await api.roomKeys.rekey.mutate({ id, ...request })
    await this.#storeKeys(slug, new Map([[meta.keyEpoch, roomKey]]))
  }

  /** Encrypts a room key with the public key of a person. */
  wrapFor = async (publicKey: string, roomKey: string): Promise<string> =>
    writeSealedRoomKey(await inviteByPublicKey(publicKey, roomKey))

  /** Encrypts a room key with the secret of an invitation link. */
  wrapForLink = async (secret: string, roomKey: string): Promise<string> =>
    writeSealedRoomKey(await inviteByHash(secret, roomKey, this.#salts))

  /** Stores the room key of an accepted invitation. */
  async storeInvitationKey(slug: string, keyEpoch: number, wrappedKey: string, secret?: string): Promise<void> {
    const sealed = readSealedRoomKey(wrappedKey)
    const key =
      secret === undefined
        ? await openByPrivateKey(await this.#readPrivateKey(), sealed)
        : await openByHash(secret, sealed, this.#salts)
    await this.#storeKeys(slug, new Map([[keyEpoch, key]]))
  }

  async #storeKeys(slug: string, keys: RoomKeys): Promise<void> {
    const set = await roomKeychain(this.#passkeyKey, slug, this.#salts, keys)
    await api.userKeychainValues.batchUpdate.mutate({ set })
    this.#keysBySlug.set(slug, new Map([...(this.#keysBySlug.get(slug) ?? []), ...keys]))
  }

  #readKeychain(): Promise<KeychainEntry[]> {
    this.#keychain ??= api.userKeychainValues.list.query({}).then(({ items }) => items)
    this.#keychain.catch(() => {
      this.#keychain = undefined
    })
    return this.#keychain
  }

  async #readPrivateKey(): Promise<Key> {
    const entry = (await this.#readKeychain()).find(({ keyType }) => keyType === 'private_key')
    if (!entry) throw new Error('The keychain has no private key.')
    return importPrivateKey(await unsealEntry(this.#passkeyKey, entry))
  }
}

async function readStoredKeys(id: string) {
  const all: Awaited<ReturnType<typeof api.roomKeys.list.query>>['meta']['keys'] = []
  for (;;) {
    const last = all.at(-1)
    const { meta } = await api.roomKeys.list.query({ id, ...(last && { page: { after: `${last.keyEpoch}` } }) })
    all.push(...meta.keys)
    if (!meta.hasMore) return all
  }
}

const keyrings = new WeakMap<Session, Keyring>()

/** Returns the keyring of a session, and creates it on first use. */
export function getKeyring(session: Session): Keyring {
  const keyring = keyrings.get(session) ?? new Keyring(session.passkeyKey, getSalts(session))
  keyrings.set(session, keyring)
  return keyring
}
