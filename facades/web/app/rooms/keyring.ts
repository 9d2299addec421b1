import { SvcError } from '../../../client/index.ts'
import {
  CannotOpen,
  getPinSlot,
  importPrivateKey,
  inviteByHash,
  inviteByPublicKey,
  isMemberProven,
  type Key,
  type KeychainEntry,
  type KeychainKey,
  type KeyPins,
  type KeyType,
  makeKey,
  makeNextRoomKey,
  matchesPin,
  openByHash,
  openByPrivateKey,
  openStoredRoomKeys,
  type PersonKey,
  pinPersonKey,
  proveMemberKey,
  type RoomKeys,
  readKeyPins,
  readSealedRoomKey,
  roomKeychain,
  roomKeysIn,
  type Salts,
  unsealEntry,
  writeSealedRoomKey,
} from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { refreshSession, type Session } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { getOwnId, getSalts, type Room } from './room.ts'

type KeyedRoom = Pick<Room, 'id' | 'slug'>

/** The public key of a member, and whether this browser gives it room keys. */
export interface CheckedKey extends PersonKey {
  /** `changed`: another one was pinned. `unknown`: no member with a key of the room has given them one. */
  state: 'trusted' | 'changed' | 'unknown'
  isOwn: boolean
}

/** The person has another public key than the one that this browser has pinned. */
export class KeyChanged extends InputError {
  override readonly name = 'KeyChanged'
}

/** Locks the session if another browser has wrapped the keychain anew, so that the page asks for the passphrase. */
function requireUnlocking(): never {
  void refreshSession()
  throw new InputError(t('page.error.keychain_rewrapped'))
}

/** The most public keys that a keychain pins; the oldest of more are dropped. */
const MAX_PINS = 1000

/** The room keys of a person, from their keychain or wrapped for them by others, and the keys of others that they pin. */
export class Keyring {
  readonly #ownId: string
  readonly #passkeyKey: KeychainKey
  readonly #salts: Salts
  readonly #keysBySlug = new Map<string, RoomKeys>()
  #keychain: Promise<KeychainEntry[]> | undefined
  readonly #roomsWithNewKeys = new Set<string>()
  /** Outlives entries that somebody deletes on the service. */
  #pins: KeyPins = new Map()

  constructor(ownId: string, passkeyKey: KeychainKey, salts: Salts) {
    this.#ownId = ownId
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

  /**
   * Reads the keys that were wrapped for the person since, and stores them in the keychain. Proves to the other members
   * that the person has them.
   */
  async readKeys({ id, slug }: KeyedRoom): Promise<RoomKeys> {
    const storedKeys =
      this.#keysBySlug.get(slug) ?? (await roomKeysIn(this.#passkeyKey, slug, await this.#readKeychain()))
    const [privateKey, { stored, provenEpoch, keysChangedAt }] = await Promise.all([
      this.#readPrivateKey(),
      readStoredKeys(id),
    ])
    const keys = await openStoredRoomKeys(privateKey, stored, storedKeys)
    this.#keysBySlug.set(slug, storedKeys)
    const added = [...keys].filter(([keyEpoch]) => !storedKeys.has(keyEpoch))
    if (added.length > 0) await this.#storeKeys(slug, new Map(added))
    if (keysChangedAt !== null) this.#roomsWithNewKeys.add(id)
    if (provenEpoch === null) await this.#proveOwnKey({ id, slug }, keys).catch(() => {})
    return this.#keysBySlug.get(slug) ?? keys
  }

  /**
   * Creates the next key of a room, which members without a trusted public key do not get, and returns their keys. The
   * service answers with a conflict if somebody else has just done so.
   */
  async rotateKey({ id, slug, keyEpoch }: KeyedRoom & { keyEpoch: number }): Promise<CheckedKey[]> {
    const keys = await this.getKeys({ id, slug })
    const { meta } = await api.roomKeys.recipients.query({ id })
    const checked = await this.#checkKeys(slug, keys, meta.recipients)
    const untrusted = checked.filter(({ state }) => state !== 'trusted')
    // Somebody else has rotated the key since the room was read.
    if (meta.keyEpoch !== keyEpoch + 1 || !isRotationUseful(meta, untrusted)) return untrusted
    const refused = new Set(untrusted.map(({ id: person }) => person))
    const { roomKey, request } = await makeNextRoomKey(meta, keys, { slug, refused })
    await api.roomKeys.rekey.mutate({ id, ...request })
    await this.#storeKeys(slug, new Map([[meta.keyEpoch, roomKey]]))
    // The proofs of the members hold without pins, too.
    await this.#pinNewKeys(checked.filter(({ state, isOwn }) => state === 'trusted' && !isOwn)).catch(() => {})
    return untrusted
  }

  /** Returns true if another member of the room has replaced their key pair at some time. */
  hasNewKeys = ({ id }: Pick<Room, 'id'>): boolean => this.#roomsWithNewKeys.has(id)

  /** Checks the public keys of all members of a room. */
  async checkMembers(room: KeyedRoom): Promise<CheckedKey[]> {
    const keys = await this.getKeys(room)
    const { meta } = await api.roomKeys.recipients.query({ id: room.id })
    return this.#checkKeys(room.slug, keys, meta.recipients)
  }

  /** Pins the public key of a person, instead of an earlier one. */
  async acceptKey(person: PersonKey): Promise<void> {
    await this.#pinKeys([person])
  }

  /** Encrypts a room key for a person whose public key is pinned, or is so from now on. */
  async wrapFor(person: PersonKey, roomKey: string): Promise<string> {
    const isPinned = await matchesPin(await this.#readPins(), person)
    if (isPinned === false) throw new KeyChanged(t('app.keys.changedInvitee'))
    const wrappedKey = writeSealedRoomKey(await inviteByPublicKey(person.publicKey, roomKey))
    if (isPinned === undefined) await this.#pinKeys([person])
    return wrappedKey
  }

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

  async #checkKeys(slug: string, keys: RoomKeys, recipients: readonly Recipient[]): Promise<CheckedKey[]> {
    const [pins, ownKey] = await Promise.all([this.#readPins(), this.#readPublicKey()])
    const check = async (recipient: Recipient): Promise<CheckedKey> => {
      const { id, publicKey, keysChangedAt } = recipient
      const isOwn = id === this.#ownId
      const isPinned = isOwn ? publicKey === ownKey : await matchesPin(pins, recipient)
      const isTrusted = isPinned ?? (await isMemberProven(keys, slug, recipient))
      const doubt = isPinned === false || keysChangedAt !== null ? 'changed' : 'unknown'
      return { id, publicKey, isOwn, state: isTrusted ? 'trusted' : doubt }
    }
    return Promise.all(recipients.map(check))
  }

  async #proveOwnKey({ id, slug }: KeyedRoom, keys: RoomKeys): Promise<void> {
    const keyEpoch = Math.max(...keys.keys())
    const roomKey = keys.get(keyEpoch)
    if (roomKey === undefined) return
    const proof = await proveMemberKey(roomKey, slug, { id: this.#ownId, publicKey: await this.#readPublicKey() })
    await api.roomKeys.prove.mutate({ id, keyEpoch, proof })
  }

  async #pinNewKeys(people: readonly PersonKey[]): Promise<void> {
    const pins = await this.#readPins()
    await this.#pinKeys(people.filter(({ id }) => !pins.has(id)))
  }

  async #pinKeys(people: readonly PersonKey[]): Promise<void> {
    const pinned = await Promise.all(people.slice(0, MAX_PINS).map((person) => pinPersonKey(this.#passkeyKey, person)))
    if (pinned.length === 0) return
    const pins = new Map(this.#pins)
    for (const { id, digest } of pinned) {
      pins.delete(id)
      pins.set(id, digest)
    }
    const dropped = [...pins.keys()].slice(0, Math.max(0, pins.size - MAX_PINS))
    for (const id of dropped) pins.delete(id)
    await this.#changeKeychain({
      set: pinned.map(({ entry }) => entry),
      remove: dropped.map((id) => getPinSlot(id)),
    })
    this.#pins = pins
  }

  /** Reads the pins again, because other browsers of the person may have pinned keys since. */
  async #readPins(): Promise<KeyPins> {
    const { items } = await api.userKeychainValues.list.query({})
    const pins = await readKeyPins(this.#passkeyKey, items).catch((error: unknown) => {
      if (error instanceof CannotOpen) requireUnlocking()
      throw error
    })
    this.#pins = new Map([...this.#pins, ...pins])
    return this.#pins
  }

  async #storeKeys(slug: string, keys: RoomKeys): Promise<void> {
    const set = await roomKeychain(this.#passkeyKey, slug, this.#salts, keys)
    await this.#changeKeychain({ set })
    this.#keysBySlug.set(slug, new Map([...(this.#keysBySlug.get(slug) ?? []), ...keys]))
  }

  /** Stores and removes entries of the keychain. */
  async #changeKeychain(change: Parameters<typeof api.userKeychainValues.batchUpdate.mutate>[0]): Promise<void> {
    await api.userKeychainValues.batchUpdate.mutate(change).catch((error: unknown) => {
      if (error instanceof SvcError && error.code === 'keychain_rewrapped') requireUnlocking()
      throw error
    })
  }

  #readKeychain(): Promise<KeychainEntry[]> {
    this.#keychain ??= api.userKeychainValues.list.query({}).then(({ items }) => items)
    this.#keychain.catch(() => {
      this.#keychain = undefined
    })
    return this.#keychain
  }

  #readPrivateKey = async (): Promise<Key> => importPrivateKey(await this.#readOwnKey('private_key'))

  #readPublicKey = (): Promise<string> => this.#readOwnKey('public_key')

  async #readOwnKey(type: KeyType): Promise<string> {
    const entry = (await this.#readKeychain()).find(({ keyType }) => keyType === type)
    if (!entry) throw new Error(`The keychain has no ${type}.`)
    return unsealEntry(this.#passkeyKey, entry)
  }
}

type RoomRecipients = Awaited<ReturnType<typeof api.roomKeys.recipients.query>>['meta']
type Recipient = RoomRecipients['recipients'][number]

/**
 * Returns true if a former member has the key, or if the next one reaches a member who lacks it. It must then not be
 * withheld from somebody who has the current one: browsers that trust different members would take turns for ever.
 */
function isRotationUseful({ isKeyExposed, recipients }: RoomRecipients, untrusted: readonly CheckedKey[]): boolean {
  if (isKeyExposed || untrusted.length === 0) return true
  const refused = new Set(untrusted.map(({ id }) => id))
  const isReached = recipients.some(({ id, hasKey }) => !hasKey && !refused.has(id))
  return isReached && !recipients.some(({ id, hasKey }) => hasKey && refused.has(id))
}

async function readStoredKeys(id: string) {
  const stored: Awaited<ReturnType<typeof api.roomKeys.list.query>>['meta']['keys'] = []
  for (;;) {
    const last = stored.at(-1)
    const { meta } = await api.roomKeys.list.query({ id, ...(last && { page: { after: `${last.keyEpoch}` } }) })
    stored.push(...meta.keys)
    const { hasMore, provenEpoch, keysChangedAt } = meta
    if (!hasMore) return { stored, provenEpoch, keysChangedAt }
  }
}

const keyrings = new WeakMap<Session, Keyring>()

/** Returns the keyring of a session, and creates it on first use. */
export function getKeyring(session: Session): Keyring {
  const keyring = keyrings.get(session) ?? new Keyring(getOwnId(session), session.passkeyKey, getSalts(session))
  keyrings.set(session, keyring)
  return keyring
}
