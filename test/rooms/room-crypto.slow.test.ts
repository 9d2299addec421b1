import { expect, test } from 'vitest'
import * as web from '../../facades/web/browser/crypto.ts'
import { base } from '../kit/json-api/client.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { playRoomScenario, type RoomScenarioOptions } from '../kit/rooms/room-scenario.ts'
import { type RoomsApp, startRooms, withOwnPeople } from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'
import { serveBrowserModules } from '../kit/web/browser-modules.ts'
import { openPage } from '../kit/web/chromium.ts'
import { derivePasskeyKey, invitation, loadKeyPairs, roomKey, salts } from '../kit/web/crypto.ts'

const svc = shareResource(startRooms)

/** Three people who meet in a room. */
async function threePeople(): Promise<RoomScenarioOptions> {
  const { people } = await withOwnPeople(svc, 'ada', 'bob', 'cyd')
  const given = ({ id, token }: RoomsApp['people']['ada']) => ({ id: String(id), token })
  return { base: svc.url + base, salts, ada: given(people.ada), bob: given(people.bob), cyd: given(people.cyd) }
}

/** String B of the test vectors. */
const sealedRoomKey =
  'AAECAwQFBgcICQoL|BiZu6ujQ9Jomk/EqZz6ZHg==|c9RA2cf4IJ2LcxbZBsGfjsMjCDeubnM3pelR0mJZ/iKGL6GvWJW0Gk8R7ck='

interface Vectors {
  roomKey: string
  salts: web.Salts
  invitation: web.SealedRoomKey
  sealedRoomKey: string
}

/** Runs in the browser, so it references nothing outside itself. */
async function openVectors(browser: typeof web, { roomKey, salts, invitation, sealedRoomKey }: Vectors) {
  const slug = 'my-room-AbC123'
  const key = await browser.passkeyKey('Datakey_123', salts)
  const entry = { key: slug, keyType: 'room_key', value: sealedRoomKey } as const
  return {
    aiKey: browser.toHex(browser.keyBytes(await browser.roomAiKey(roomKey, slug, salts))),
    invited: await browser.openByHash('00112233445566778899aabbccddeeff', invitation, salts),
    inKeychain: [...(await browser.roomKeysIn(key, slug, [entry]))],
  }
}

const all = ['e4', 'e5', 'Hello']

const expected = ({ ada, cyd }: RoomScenarioOptions) => ({
  sent: [201, 201, 201, 201, 201],
  before: [all, all, all],
  removed: 200,
  rekeyRequired: true,
  rekeyed: [200, 1, false],
  recipients: [ada.id, cyd.id],
  after: [
    [...all, 'Nf3', 'Nc6'],
    [...all, 'Nf3', 'Nc6'],
  ],
  description: 'About chess',
  removedOnes: { opens: [...all, 'closed', 'closed'], status: 404, keychain: [] },
})

test('people read all they may in Node, and a removed member nothing new', async () => {
  const given = await threePeople()

  expect(await playRoomScenario(web, given)).toEqual(expected(given))
})

describeWith('chromium')('in Chromium', () => {
  test('people read all they may in Chromium, and a removed member nothing new', async () => {
    const given = await threePeople()
    await using chromium = await openPage(svc.url)
    await chromium.page.goto('/login')
    await serveBrowserModules(chromium.page)

    // The function is text, as the test runner rewrites a dynamic import in code.
    const script = `import('/assets/crypto.js').then((web) => (${playRoomScenario})(web, ${JSON.stringify(given)}))`
    expect(await chromium.page.evaluate(script)).toEqual(expected(given))
  })

  test('the test vectors of room keys and invitations hold in Chromium, too', async () => {
    await using chromium = await openPage(svc.url)
    await chromium.page.goto('/login')
    await serveBrowserModules(chromium.page)
    const vectors = { roomKey, salts, invitation, sealedRoomKey }

    const script = `import('/assets/crypto.js').then((web) => (${openVectors})(web, ${JSON.stringify(vectors)}))`
    expect(await chromium.page.evaluate(script)).toEqual({
      aiKey: 'c111a3fca682611e93f3b0e7654c5b9e57d6a25b4ad5fda620b1d705eed578ec',
      invited: roomKey,
      inKeychain: [[0, roomKey]],
    })
  })
})

/** The next key of a room with shared earlier keys, as the service describes it. */
const recipients = (...given: { id: string; publicKey: string }[]): web.KeyRecipients => ({
  keyEpoch: 1,
  version: 'v',
  recipients: given,
  sharesEarlierKeys: true,
  role: 'admin',
  roomDescription: null,
  systemPrompt: null,
})

test('an invalid public key does not block the next room key, and is reported', async () => {
  const [{ publicKey, privateKey }] = await loadKeyPairs()
  const given = recipients({ id: '4', publicKey: 'a2V5' }, { id: '5', publicKey }, { id: '6', publicKey: 'no key' })

  const { roomKey: made, request, unusable } = await web.makeNextRoomKey(given, new Map([[0, roomKey]]))

  expect(unusable).toEqual(['4', '6'])
  expect(request.keys.map(({ user }) => user)).toEqual(['5'])
  const wrappedKey = request.keys[0]!.wrappedKey
  const opened = await web.unwrap(await web.importPrivateKey(privateKey), wrappedKey)
  expect(web.toBase64(opened)).toBe(made)
})

test('with the next key all texts of a room without key sharing are re-encrypted', async () => {
  const [{ publicKey }] = await loadKeyPairs()
  const known = new Map([
    [0, roomKey],
    [3, web.makeKey()],
  ])
  const given = {
    ...recipients({ id: '5', publicKey }),
    keyEpoch: 4,
    sharesEarlierKeys: false,
    roomDescription: await web.sealRoomText(roomKey, 'About chess'),
    systemPrompt: await web.sealRoomText(known.get(3)!, 'Play chess', 3),
  }

  const { roomKey: made, request } = await web.makeNextRoomKey(given, known)
  const byEditor = await web.makeNextRoomKey({ ...given, role: 'editor' }, known)
  const unreadable = await web.makeNextRoomKey({ ...given, systemPrompt: '{"ciphertext":7}' }, new Map([[0, roomKey]]))

  const later = new Map([[4, made]])
  expect(request).toMatchObject({ roomDescription: expect.any(String), systemPrompt: expect.any(String) })
  const { roomDescription = '', systemPrompt = '' } = request
  expect(await web.openRoomText(later, roomDescription)).toBe('About chess')
  expect(await web.openRoomText(later, systemPrompt)).toBe('Play chess')
  await expect(web.openRoomText(known, systemPrompt)).rejects.toThrow('There is no key with the number 4.')
  expect(Object.keys(byEditor.request)).toEqual(['keyEpoch', 'recipients', 'keys'])
  expect(Object.keys(unreadable.request)).toEqual(['keyEpoch', 'recipients', 'keys', 'roomDescription'])
})

test('a stored key that somebody spoiled keeps nobody from the others', async () => {
  const [{ publicKey, privateKey }, other] = await loadKeyPairs()
  const wrapFor = async (half: string, key: string) => web.wrap(await web.importPublicKey(half), web.keyBytes(key))
  const next = await web.makeNextRoomKey(recipients({ id: '5', publicKey }), new Map([[0, roomKey]]))
  const { wrappedKey } = next.request.keys[0]!
  const stored = [
    { keyEpoch: 1, wrappedKey, previousKey: next.request.previousKey ?? null },
    { keyEpoch: 2, wrappedKey: await wrapFor(other.publicKey, roomKey), previousKey: null },
  ]

  const keys = await web.openStoredRoomKeys(await web.importPrivateKey(privateKey), stored)

  expect([...keys].sort()).toEqual([
    [0, roomKey],
    [1, next.roomKey],
  ])
})

test("a later epoch's key has its own keychain name, and the first the slug", async () => {
  const key = await derivePasskeyKey()
  const keys = new Map([
    [0, roomKey],
    [12, web.makeKey()],
  ])

  const entries = await web.roomKeychain(key, 'my-room-AbC123', salts, keys)
  const foreign = await web.roomKeychain(key, 'room-AbC123', salts, new Map([[3, web.makeKey()]]))

  expect(entries.map(({ key, keyType }) => [keyType, key])).toEqual([
    ['room_key', 'my-room-AbC123'],
    ['room_ai', 'my-room-AbC123'],
    ['room_key', 'my-room-AbC123:12'],
    ['room_ai', 'my-room-AbC123:12'],
  ])
  expect(await web.roomKeysIn(key, 'my-room-AbC123', [...entries, ...foreign])).toEqual(keys)
})

test('the texts of a room are readable in older JSON and in one line', async () => {
  const sealed = await web.sealRoomText(roomKey, 'Grüße')
  const { ciphertext, iv, tag } = JSON.parse(sealed)

  expect(Object.keys(JSON.parse(sealed))).toEqual(['ciphertext', 'iv', 'tag'])
  expect(await web.openRoomText(new Map([[0, roomKey]]), sealed)).toBe('Grüße')
  expect(await web.openRoomText(new Map([[0, roomKey]]), `${iv}|${tag}|${ciphertext}`)).toBe('Grüße')
  expect(await web.openMessage(roomKey, await web.sealMessage(roomKey, 'Grüße'))).toBe('Grüße')
  await expect(web.openMessage(web.makeKey(), await web.sealMessage(roomKey, 'x'))).rejects.toThrow(web.CannotOpen)
})

test("the link's secret follows the #, and the service never receives it", async () => {
  const { secret, proofHash } = await web.makeInvitationSecret()
  const proof = await web.invitationProof(secret)

  expect(web.readInvitationFragment(web.invitationFragment('invitation-7', secret))).toEqual({
    id: 'invitation-7',
    secret,
  })
  expect([secret, proof, proofHash]).toEqual([
    expect.stringMatching(/^[0-9a-f]{32}$/),
    expect.stringMatching(/^[0-9a-f]{64}$/),
    expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
  ])
  for (const fragment of ['', '#', `#7.${secret}`, `#invitation-7.${secret}0`, `#invitation-7`])
    expect(() => web.readInvitationFragment(fragment)).toThrow(web.Malformed)
  const sealed = { encryptedRoomKey: 'Y2lwaGVy', iv: 'aXY=', tag: 'dGFn' }
  expect(web.readSealedRoomKey(web.writeSealedRoomKey(sealed))).toEqual(sealed)
})
