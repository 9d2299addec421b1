import { describe, expect, test } from 'vitest'
import { buildFirstKeys, signIn } from '../kit/browser.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import type { Client } from '../kit/json-api/client.ts'
import { whileChanging } from '../kit/locks.ts'
import {
  accept,
  buildNextKey,
  invite,
  joinRoom,
  KEY,
  makeRoom,
  PREVIOUS,
  PROOF,
  postKey,
  type RoomsApp,
  readRecipients,
  rekeyRoom,
  startRooms,
  WRAPPED,
  withOwnPeople,
} from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const shared = shareResource(startRooms)

/** A room with an administrator, an editor and a viewer. */
async function withRoom(svc: RoomsApp, attributes: object = {}) {
  const room = await makeRoom(svc.ada, { name: 'Chess', ...attributes })
  const cyd = await joinRoom(svc, room, 'cyd', 'editor')
  const dan = await joinRoom(svc, room, 'dan', 'viewer')
  return { room, cyd, dan }
}

const keysOf = (by: Client, room: string) => by.get(`/rooms/${room}/actions/keys`)
const readState = async (by: Client, room: string) => {
  const { keyEpoch, rekeyRequired } = (await by.get(`/rooms/${room}`)).one.attributes
  return { keyEpoch, rekeyRequired }
}

describe('the next key of a room', () => {
  test('is made by administrators and editors, and by nobody else', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan', 'eve')
    const { room, dan } = await withRoom(svc)
    const key = await buildNextKey(svc.ada, room)
    await svc.ada.delete(`/room-members/${await joinRoom(svc, room, 'bob', 'editor')}`)

    for (const [client, status] of [
      [svc.dan, 403],
      [svc.bob, 404],
      [svc.eve, 404],
      [svc.guest, 401],
      [svc.admin, 403],
    ] as const) {
      expect([status, (await postKey(client, room, key)).status]).toEqual([status, status])
      // A viewer compares public keys, too.
      const read = client === svc.dan ? 200 : status
      expect([status, (await client.get(`/rooms/${room}/actions/key-recipients`)).status]).toEqual([status, read])
    }
    expect(await readState(svc.ada, room)).toEqual({ keyEpoch: 0, rekeyRequired: true })
    expect((await rekeyRoom(svc.ada, room)).one.attributes).toMatchObject({ keyEpoch: 1, rekeyRequired: false })
    expect((await rekeyRoom(svc.cyd, room)).one.attributes).toMatchObject({ keyEpoch: 2, rekeyRequired: false })
    expect((await svc.ada.update('room-members', dan, { role: 'editor' })).status).toBe(200)
    expect((await rekeyRoom(svc.dan, room)).status).toBe(200)
  })

  test('is for exactly the members with a public key, by their current keys', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'cyd', 'dan', 'eve')
    const { room, cyd } = await withRoom(svc)
    const members = [svc.people.ada, svc.people.cyd, svc.people.dan]
    expect((await readRecipients(svc.ada, room)).recipients).toMatchObject(
      members.map(({ id, username }) => ({ id: String(id), publicKey: makePublicKey(username) })),
    )

    const key = await buildNextKey(svc.ada, room)
    const one = { user: '1', wrappedKey: WRAPPED }
    const stranger = { user: String(svc.people.eve.id), wrappedKey: WRAPPED }
    for (const keys of [
      key.keys.slice(1),
      [...key.keys, stranger],
      [...key.keys, one],
      [...key.keys.slice(1), stranger],
    ])
      expect((await postKey(svc.ada, room, { ...key, keys })).status).toBe(409)
    await svc.rows('update users set public_key = $1 where id = $2', [makePublicKey('other'), svc.people.dan.id])
    expect((await postKey(svc.ada, room, key)).status).toBe(409)
    await svc.rows(`update users set public_key = null where id = $1`, [svc.people.dan.id])
    expect((await readRecipients(svc.ada, room)).recipients).toHaveLength(2)

    const late = await buildNextKey(svc.ada, room)
    await svc.ada.delete(`/room-members/${cyd}`)
    const refused = await postKey(svc.ada, room, late)
    expect([refused.status, refused.errors[0]?.code]).toEqual([409, 'conflict'])
    expect(await svc.rows('select from room_keys where epoch > 0 and room_id = $1', [room])).toEqual([])
    expect(await readState(svc.ada, room)).toEqual({ keyEpoch: 0, rekeyRequired: true })
  })

  test('is withheld from members whose public key the browser refuses, and is still wanted', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'cyd', 'dan')
    const { room } = await withRoom(svc)
    const cyd = String(svc.people.cyd.id)
    const { keys: all, ...key } = await buildNextKey(svc.ada, room)
    const keys = all.filter(({ user }) => user !== cyd)

    for (const wrong of [
      { keys, withheld: [] },
      { keys: all, withheld: [cyd] },
      { keys, withheld: [cyd, cyd] },
    ])
      expect((await postKey(svc.ada, room, { ...key, ...wrong })).status).toBe(409)
    expect((await postKey(svc.ada, room, { ...key, keys, withheld: [cyd] })).status).toBe(200)

    expect(await readState(svc.ada, room)).toEqual({ keyEpoch: 1, rekeyRequired: true })
    expect((await keysOf(svc.cyd, room)).meta).toMatchObject({ keys: [{ keyEpoch: 0 }, { wrappedKey: null }] })
    const { recipients } = await readRecipients(svc.ada, room)
    expect(recipients.map(({ id, hasKey }) => [id === cyd, hasKey])).toEqual([
      [false, true],
      [true, false],
      [false, true],
    ])
    expect((await rekeyRoom(svc.ada, room)).status).toBe(200)
    expect(await readState(svc.ada, room)).toEqual({ keyEpoch: 2, rekeyRequired: false })
  })

  test('comes with proofs of its members, which end with their key pairs', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'cyd', 'dan', 'eve')
    const { room } = await withRoom(svc)
    const prove = (by: Client, keyEpoch: number, proof = PROOF) =>
      by.post(`/rooms/${room}/actions/prove-key`, { keyEpoch, proof })
    const readProofs = async () =>
      (await readRecipients(svc.ada, room)).recipients.map(({ proof, proofEpoch }) => [proof, proofEpoch])
    for (const [by, status] of [
      [svc.dan, 200],
      [svc.eve, 404],
      [svc.admin, 404],
      [svc.guest, 401],
    ] as const)
      expect([status, (await prove(by, 0)).status]).toEqual([status, status])
    expect((await prove(svc.dan, 1)).status).toBe(404)
    expect((await prove(svc.dan, 0, 'short')).status).toBe(422)
    const none = [null, null]
    expect(await readProofs()).toEqual([none, none, [PROOF, 0]])
    expect((await keysOf(svc.dan, room)).meta['provenEpoch']).toBe(0)

    const { keys, ...key } = await buildNextKey(svc.ada, room)
    const proven = keys.map((each) => ({ ...each, proof: PROOF }))
    expect((await postKey(svc.ada, room, { ...key, keys: proven })).status).toBe(200)
    expect(await readProofs()).toEqual(keys.map(() => [PROOF, 1]))

    await svc.cyd.post('/user-keychain-values/actions/batch-update', { publicKey: makePublicKey('another') })
    const { recipients } = await readRecipients(svc.ada, room)
    expect(recipients[1]).toMatchObject({ proof: null, proofEpoch: null, hasKey: false })
    expect(recipients[1]?.keysChangedAt).toMatch(/^20\d\d-/)
    expect((await keysOf(svc.cyd, room)).meta).toMatchObject({ provenEpoch: null, keysChangedAt: null })
    expect((await keysOf(svc.dan, room)).meta['keysChangedAt']).toBe(recipients[1]?.keysChangedAt)
  })

  test('is for everybody else where a public key is invalid, and names its person', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'cyd', 'dan')
    const { room } = await withRoom(svc)
    await svc.rows(`update users set public_key = 'a2V5' where id = $1`, [svc.people.cyd.id])
    await svc.rows('update users set public_key = null where id = $1', [svc.people.dan.id])

    const { recipients, withoutKeys } = await readRecipients(svc.ada, room)

    expect(recipients.map(({ id }) => id)).toEqual([String(svc.people.ada.id)])
    expect(withoutKeys).toEqual([svc.people.cyd, svc.people.dan].map(({ id }) => String(id)))
    expect((await rekeyRoom(svc.ada, room)).status).toBe(200)
  })

  test('replaces the re-encrypted texts of the room, and only existing ones', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'cyd', 'dan')
    const { room } = await withRoom(svc, { roomDescription: 'old', sharesEarlierKeys: false })
    const key = { ...(await buildNextKey(svc.ada, room)), previousKey: undefined }
    expect(await readRecipients(svc.ada, room)).toMatchObject({ roomDescription: 'old', systemPrompt: null })

    const byEditor = await postKey(svc.cyd, room, { ...key, roomDescription: 'new' })
    expect([byEditor.status, (await readState(svc.ada, room)).keyEpoch]).toEqual([403, 0])
    const added = await postKey(svc.ada, room, { ...key, roomDescription: 'new', systemPrompt: 'new' })
    expect([added.status, added.errors[0]?.source]).toEqual([422, { pointer: '/systemPrompt' }])
    expect((await postKey(svc.ada, room, { ...key, roomDescription: '' })).status).toBe(422)
    await svc.ada.update('rooms', room, { roomDescription: 'other' })
    expect((await postKey(svc.ada, room, { ...key, roomDescription: 'new' })).status).toBe(409)

    const again = { ...(await buildNextKey(svc.ada, room)), previousKey: undefined, roomDescription: 'new' }
    const { status, one } = await postKey(svc.ada, room, again)
    expect([status, one.attributes]).toMatchObject([200, { roomDescription: 'new', systemPrompt: null, keyEpoch: 1 }])
    const last = { ...(await buildNextKey(svc.ada, room)), previousKey: undefined }
    expect((await postKey(svc.ada, room, last)).one.attributes).toMatchObject({ roomDescription: 'new', keyEpoch: 2 })
  })

  test('follows the one in use, and is bounded and of the right form', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'cyd', 'dan')
    const { room } = await withRoom(svc)
    const key = await buildNextKey(svc.ada, room)
    const [first] = key.keys
    const many = Array.from({ length: 501 }, (_, n) => ({ user: String(n + 1), wrappedKey: WRAPPED }))

    for (const [change, status] of [
      [{ keyEpoch: 2 }, 409],
      [{ keyEpoch: 0 }, 422],
      [{ keyEpoch: 1.5 }, 422],
      [{ keys: [] }, 422],
      [{ keys: many }, 422],
      [{ keys: [...key.keys, first] }, 422],
      [{ keys: [{ ...first, wrappedKey: 'no base64' }] }, 422],
      [{ keys: [{ ...first, wrappedKey: 'A'.repeat(1028) }] }, 422],
      [{ recipients: 'x' }, 422],
      [{ previousKey: undefined }, 422],
      [{ previousKey: WRAPPED }, 422],
      [{ extra: 1 }, 422],
    ] as const)
      expect([change, (await postKey(svc.ada, room, { ...key, ...change })).status]).toEqual([change, status])
    expect((await postKey(svc.ada, room, key)).status).toBe(200)
    expect((await postKey(svc.ada, room, key)).status).toBe(409)
  })

  test('is given to each member, who sees their own alone', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan')
    const { room } = await withRoom(svc)
    const { keys, ...rest } = await buildNextKey(svc.ada, room)
    const own = keys.map(({ user }) => ({ user, wrappedKey: Buffer.from(`key of ${user}`).toString('base64') }))
    expect((await postKey(svc.ada, room, { ...rest, keys: own })).status).toBe(200)

    const first = { keyEpoch: 0, wrappedKey: KEY, previousKey: null }
    for (const [name, before] of [
      ['ada', []],
      ['cyd', [first]],
      ['dan', [first]],
    ] as const) {
      const { wrappedKey } = own.find(({ user }) => user === String(svc.people[name].id))!
      expect((await keysOf(svc[name], room)).meta).toEqual({
        keyEpoch: 1,
        keys: [...before, { keyEpoch: 1, wrappedKey, previousKey: PREVIOUS }],
        hasMore: false,
        provenEpoch: null,
        keysChangedAt: null,
      })
      expect((await svc[name].get(`/rooms/${room}/actions/keys?page[after]=1`)).meta['keys']).toEqual([])
    }
    for (const [client, status] of [
      [svc.bob, 404],
      [svc.guest, 401],
      [svc.admin, 403],
    ] as const)
      expect((await keysOf(client, room)).status).toBe(status)
    expect((await svc.ada.get(`/rooms/${room}/actions/keys?page[after]=x`)).status).toBe(400)
  })

  test('waits for a member who is just being removed, and is then not taken', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'cyd', 'dan')
    const { room } = await withRoom(svc)
    const key = await buildNextKey(svc.ada, room)

    const { status } = await whileChanging(
      svc,
      `update rooms set updated_at = now() where id = ${room};
       update room_members set state = 'removed' where user_id = ${svc.people.cyd.id}`,
      () => postKey(svc.ada, room, key),
    )

    expect(status).toBe(409)
  })
})

describe('a room asks for a new key', () => {
  const changesOf = async (svc: RoomsApp, room: string) =>
    svc.rows<{ kind: string; subject: string }>(`select kind, subject from change_log where stream = $1 order by seq`, [
      `room:${room}`,
    ])

  test('when a member is removed, leaves or is erased, and records a change', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan')
    const { room, cyd } = await withRoom(svc)
    const bob = await joinRoom(svc, room, 'bob', 'viewer')
    const forgetChanges = () => svc.rows('delete from change_log where stream = $1', [`room:${room}`])
    const requestRekey = async () => {
      expect(await readState(svc.ada, room)).toMatchObject({ rekeyRequired: true })
      expect(await changesOf(svc, room)).toContainEqual({ kind: 'rooms.updated', subject: room })
      await forgetChanges()
      expect((await rekeyRoom(svc.ada, room)).status).toBe(200)
      expect(await changesOf(svc, room)).toEqual([{ kind: 'rooms.updated', subject: room }])
      await forgetChanges()
      expect(await readState(svc.ada, room)).toMatchObject({ rekeyRequired: false })
    }
    expect(await readState(svc.ada, room)).toEqual({ keyEpoch: 0, rekeyRequired: false })

    expect((await svc.ada.delete(`/room-members/${cyd}`)).status).toBe(200)
    expect(await svc.rows('select from room_keys where user_id = $1', [svc.people.cyd.id])).toEqual([])
    await requestRekey()
    expect((await svc.bob.delete(`/room-members/${bob}`)).status).toBe(200)
    await requestRekey()
    expect((await svc.admin.delete(`/users/${svc.people.dan.id}`)).status).toBe(200)
    await requestRekey()
  })

  test('when a member gets other keys, but not when they send the same again', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'cyd', 'dan')
    const { room } = await withRoom(svc)
    const change = (publicKey: string) => svc.dan.post('/user-keychain-values/actions/batch-update', { publicKey })

    expect((await change(makePublicKey(svc.people.dan.username))).status).toBe(200)
    expect(await readState(svc.ada, room)).toMatchObject({ rekeyRequired: false })
    expect((await change(makePublicKey('other'))).status).toBe(200)
    expect(await readState(svc.ada, room)).toMatchObject({ rekeyRequired: true })
    expect((await keysOf(svc.dan, room)).meta['keys']).toEqual([])
    expect(await changesOf(svc, room)).toContainEqual({ kind: 'rooms.updated', subject: room })
  })

  test('when a member resets their keys, and again when they have made new ones', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'cyd', 'dan')
    const { room } = await withRoom(svc)
    const { browser, id } = await signIn(svc, 'fay')
    await svc.rows(`insert into room_members (room_id, user_id, role) values ($1, $2, 'viewer')`, [room, id])
    expect((await rekeyRoom(svc.ada, room)).status).toBe(200)
    const stored = () => svc.rows('select from room_keys where user_id = $1', [id])
    expect([await stored(), await readState(svc.ada, room)]).toMatchObject([[{}], { rekeyRequired: false }])

    expect((await browser.send('POST', '/req/profile/reset')).status).toBe(200)
    expect([await stored(), await readState(svc.ada, room)]).toMatchObject([[], { rekeyRequired: true }])
    expect((await readRecipients(svc.ada, room)).withoutKeys).toEqual([String(id)])
    expect((await rekeyRoom(svc.ada, room)).status).toBe(200)
    expect([await stored(), await readState(svc.ada, room)]).toMatchObject([[], { rekeyRequired: false }])

    expect((await browser.send('POST', '/handshake', { body: buildFirstKeys() })).status).toBeLessThan(300)
    expect(await readState(svc.ada, room)).toMatchObject({ rekeyRequired: true })
    expect((await rekeyRoom(svc.ada, room)).status).toBe(200)
    expect(await stored()).toHaveLength(1)
  })

  test('when somebody accepts an invitation that was made with the key before', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan')
    const { room } = await withRoom(svc)
    const { one } = await invite(svc.ada, room, svc.people.bob.id, 'viewer')
    expect((await rekeyRoom(svc.ada, room)).status).toBe(200)
    expect((await accept(svc.bob, one.id)).status).toBe(200)

    expect(await readState(svc.bob, room)).toEqual({ keyEpoch: 1, rekeyRequired: true })
  })
})

describe('a new member', () => {
  const given = async (by: Client, room: string) =>
    ((await keysOf(by, room)).meta['keys'] as { keyEpoch: number; wrappedKey: unknown; previousKey: unknown }[]).map(
      ({ keyEpoch, wrappedKey, previousKey }) => [keyEpoch, wrappedKey !== null, previousKey !== null],
    )

  test('is given the keys before theirs where the room shares them', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan')
    const { room } = await withRoom(svc)
    await rekeyRoom(svc.ada, room)
    await rekeyRoom(svc.ada, room)
    const { one } = await invite(svc.ada, room, svc.people.bob.id, 'viewer', { keyEpoch: 2 })
    await accept(svc.bob, one.id)

    expect(await given(svc.bob, room)).toEqual([
      [1, false, true],
      [2, true, true],
    ])
  })

  test('is given theirs and later ones alone where the room does not', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan')
    const { room } = await withRoom(svc)
    await rekeyRoom(svc.ada, room)
    const change = await svc.ada.update('rooms', room, { sharesEarlierKeys: false })
    expect([change.status, change.one.attributes]).toMatchObject([200, { sharesEarlierKeys: false }])
    const { one } = await invite(svc.ada, room, svc.people.bob.id, 'viewer', { keyEpoch: 1 })
    await accept(svc.bob, one.id)

    expect(await given(svc.bob, room)).toEqual([[1, true, false]])
    const next = await buildNextKey(svc.ada, room)
    expect((await postKey(svc.ada, room, next)).status).toBe(422)
    expect((await postKey(svc.ada, room, { ...next, previousKey: undefined })).status).toBe(200)
    expect(await given(svc.bob, room)).toEqual([
      [1, true, false],
      [2, true, false],
    ])
    expect(await given(svc.dan, room)).toEqual([
      [0, true, false],
      [1, true, true],
      [2, true, false],
    ])
  })

  test('who rejoins gets the keys of a new member, and no earlier ones', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'cyd', 'dan')
    const { room, dan } = await withRoom(svc, { sharesEarlierKeys: false })
    await svc.ada.delete(`/room-members/${dan}`)
    expect(
      (await postKey(svc.ada, room, { ...(await buildNextKey(svc.ada, room)), previousKey: undefined })).status,
    ).toBe(200)
    const { one } = await invite(svc.ada, room, svc.people.dan.id, 'viewer', { keyEpoch: 1 })
    await accept(svc.dan, one.id)

    expect(await given(svc.dan, room)).toEqual([[1, true, false]])
  })
})
