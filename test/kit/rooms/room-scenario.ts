import type * as browser from '../../../facades/web/browser/crypto.ts'

/** A person whose browser calls the JSON:API. */
interface Caller {
  id: string
  token: string
}

/** The inputs of the scenario, which can be serialized for a browser. */
export interface RoomScenarioOptions {
  base: string
  salts: browser.Salts
  ada: Caller
  bob: Caller
  cyd: Caller
}

/**
 * Three people with keys of their own. Ada makes a room, invites Bob by his public key and Cyd by a link, all write and
 * read; Bob is removed, and the room gets its next key. Names nothing outside of itself: it runs in Node and in Chromium.
 */
export async function playRoomScenario(web: typeof browser, { base, salts, ...callers }: RoomScenarioOptions) {
  const call = async ({ token }: Caller, method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' }
    const response = await fetch(base + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    return { status: response.status, ...JSON.parse((await response.text()) || '{}') }
  }
  const to = (type: string, id: string) => ({ data: { type, id } })
  const enter = async (caller: Caller, passkey: string) => {
    const key = await web.passkeyKey(passkey, salts)
    const { publicKey, keychain } = await web.makeKeychain(key)
    const set = (entries: object[]) =>
      call(caller, 'POST', '/user-keychain-values/actions/batch-update', { publicKey, set: entries })
    await set(keychain)
    const privateKey = await web.importPrivateKey(await web.unsealEntry(key, keychain[0]!))
    return { ...caller, key, publicKey, privateKey, set }
  }
  const ada = await enter(callers.ada, 'Passkey_ada')
  const bob = await enter(callers.bob, 'Passkey_bob')
  const cyd = await enter(callers.cyd, 'Passkey_cyd')
  type Person = typeof ada

  const room = (await call(ada, 'POST', '/rooms', { data: { type: 'rooms', attributes: { name: 'Chess' } } })).data
  const { slug } = room.attributes
  const first = web.makeKey()
  await ada.set(await web.roomEntries(ada.key, slug, salts, first))
  const texts = { roomDescription: await web.sealRoomText(first, 'About chess') }
  await call(ada, 'PATCH', `/rooms/${room.id}`, { data: { type: 'rooms', id: room.id, attributes: texts } })

  const invite = async (attributes: object, user?: string) =>
    (
      await call(ada, 'POST', '/room-members', {
        data: {
          type: 'room-members',
          attributes: { role: 'editor', ...attributes },
          relationships: { room: to('rooms', room.id), ...(user ? { user: to('users', user) } : {}) },
        },
      })
    ).data.id
  const keep = async (person: Person, key: string, keyEpoch: number) =>
    person.set(await web.roomEntries(person.key, slug, salts, key, keyEpoch))

  const forBob = web.writeSealedRoomKey(await web.inviteByPublicKey(bob.publicKey, first))
  const bobs = await invite({ wrappedKey: forBob, keyEpoch: 0 }, bob.id)
  const bobAccepted = await call(bob, 'POST', `/room-members/${bobs}/actions/accept`, {})
  const sealedForBob = web.readSealedRoomKey(bobAccepted.meta.wrappedKey)
  await keep(bob, await web.openByPrivateKey(bob.privateKey, sealedForBob), bobAccepted.meta.keyEpoch)

  const { secret, proofHash } = await web.makeInvitationSecret()
  const forLink = web.writeSealedRoomKey(await web.inviteByHash(secret, first, salts))
  const cyds = await invite({ wrappedKey: forLink, keyEpoch: 0, proofHash })
  const link = web.readInvitationFragment(web.invitationFragment(cyds, secret))
  const proof = await web.invitationProof(link.secret)
  const cydAccepted = await call(cyd, 'POST', `/room-members/${link.id}/actions/accept`, { proof })
  const sealedForLink = web.readSealedRoomKey(cydAccepted.meta.wrappedKey)
  await keep(cyd, await web.openByHash(link.secret, sealedForLink, salts), cydAccepted.meta.keyEpoch)

  const keysOf = async (person: Person) => {
    const { data } = await call(person, 'GET', '/user-keychain-values')
    const entries = data.map(({ attributes }: { attributes: browser.KeychainEntry }) => attributes)
    return web.roomKeysIn(person.key, slug, entries)
  }
  const write = async (person: Person, keyEpoch: number, text: string) => {
    const content = await web.sealMessage((await keysOf(person)).get(keyEpoch) ?? '', text)
    const attributes = { content, keyEpoch }
    const data = { type: 'room-messages', attributes, relationships: { room: to('rooms', room.id) } }
    return (await call(person, 'POST', '/room-messages', { data })).status
  }
  type Message = { attributes: { content: string; keyEpoch: number } }
  const messages = async (): Promise<Message[]> =>
    (await call(ada, 'GET', `/rooms/${room.id}/messages?sort=number`)).data
  /** Decrypts all messages with some keys, even messages that the service would not give to their owner. */
  const readWith = async (keys: browser.RoomKeys) =>
    Promise.all(
      (await messages()).map(async ({ attributes: { content, keyEpoch } }) => {
        const tries = [keys.get(keyEpoch), ...keys.values()].filter((key) => key !== undefined)
        for (const key of tries) {
          const text = await web.openMessage(key, content).catch(() => undefined)
          if (text !== undefined) return text
        }
        return 'closed'
      }),
    )

  const statuses = [await write(ada, 0, 'e4'), await write(bob, 0, 'e5'), await write(cyd, 0, 'Hello')]
  const before = await Promise.all([ada, bob, cyd].map(async (person) => readWith(await keysOf(person))))

  const bobKeys = await keysOf(bob)
  const removed = await call(ada, 'DELETE', `/room-members/${bobAccepted.data.id}`)
  const { rekeyRequired } = (await call(ada, 'GET', `/rooms/${room.id}`)).data.attributes
  const { meta: recipients } = await call(cyd, 'GET', `/rooms/${room.id}/actions/key-recipients`)
  const next = await web.makeNextRoomKey(recipients, await keysOf(cyd))
  const rekeyed = await call(cyd, 'POST', `/rooms/${room.id}/actions/rekey`, next.request)
  for (const person of [ada, cyd]) {
    const { meta } = await call(person, 'GET', `/rooms/${room.id}/actions/keys`)
    const keys = await web.openStoredRoomKeys(person.privateKey, meta.keys)
    await person.set(await web.roomKeychain(person.key, slug, salts, keys))
  }
  statuses.push(await write(ada, 1, 'Nf3'), await write(cyd, 1, 'Nc6'))

  const storedKeys = next.request.keys.map(({ wrappedKey }) => ({ keyEpoch: 1, wrappedKey, previousKey: null }))
  const openedByBob = await web.openStoredRoomKeys(bob.privateKey, storedKeys, bobKeys)
  return {
    sent: statuses,
    before,
    removed: removed.status,
    rekeyRequired,
    rekeyed: [rekeyed.status, rekeyed.data.attributes.keyEpoch, rekeyed.data.attributes.rekeyRequired],
    recipients: recipients.recipients.map(({ id }: { id: string }) => id),
    after: await Promise.all([ada, cyd].map(async (person) => readWith(await keysOf(person)))),
    description: await web.openRoomText(
      await keysOf(cyd),
      (await call(cyd, 'GET', `/rooms/${room.id}`)).data.attributes.roomDescription,
    ),
    removedOnes: {
      opens: await readWith(openedByBob),
      status: (await call(bob, 'GET', `/rooms/${room.id}/actions/keys`)).status,
      keychain: [...(await keysOf(bob)).keys()],
    },
  }
}
