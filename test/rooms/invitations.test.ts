import { describe, expect, onTestFinished, test } from 'vitest'
import { findInvitationsOfUser } from '../../entities/rooms/room.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { createClient } from '../../facades/client/index.ts'
import { signIn } from '../kit/browser.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import type { Client } from '../kit/json-api/client.ts'
import { openClient } from '../kit/postgres-client.ts'
import {
  accept,
  createLink,
  invite,
  joinRoom,
  KEY,
  makeRoom,
  type RoomsApp,
  readMembership,
  startRooms,
  withOwnPeople,
} from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const shared = shareResource(startRooms)

/** Lists the people invited to a room. */
const invitedTo = (svc: RoomsApp, ...rooms: string[]) =>
  svc.rows(
    `select user_id as person, room_id::text as room from room_members where state = 'invited' and room_id = any($1)`,
    [rooms],
  )

describe('an invitation', () => {
  test('an invitation is visible to invitee and administrators, and makes a member', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan')
    const room = await makeRoom(svc.ada)
    await joinRoom(svc, room, 'cyd', 'editor')

    const { status, one, headers } = await invite(svc.ada, room, svc.people.bob.id, 'viewer')

    const membership = /^invitation-(\d+)$/.exec(one.id)?.[1]
    expect([status, headers.get('location')]).toEqual([201, `/api/svc/v1/room-members/invitation-${membership}`])
    expect(one.attributes).not.toHaveProperty('wrappedKey')
    const seen = await svc.bob.get(`/room-members/${one.id}?include=user,room`)
    expect(seen.one.attributes).toMatchObject({
      state: 'invited',
      role: 'viewer',
      username: svc.people.bob.username,
      inviterName: svc.people.ada.name,
      roomName: 'Chess',
      roomSlug: expect.stringMatching(/^chess-/),
      wrappedKey: KEY,
      keyEpoch: 0,
    })
    expect(seen.one.relationships?.['room']?.data).toBe(null)
    expect((await svc.bob.get(`/rooms/${room}`)).status).toBe(404)
    expect((await svc.bob.get('/room-members')).list).toMatchObject([{ id: one.id }])
    const idsFor = async (client: typeof svc.ada) => (await client.get('/room-members')).list.map(({ id }) => id)
    expect(await idsFor(svc.ada)).toContain(one.id)
    for (const client of [svc.cyd, svc.dan, svc.admin]) {
      expect(await idsFor(client)).not.toContain(one.id)
      expect((await client.get(`/room-members/${one.id}`)).status).toBe(404)
      expect((await accept(client, one.id)).status).toBe(404)
    }

    const accepted = await accept(svc.bob, one.id)

    expect([accepted.status, accepted.one.id, accepted.one.attributes, accepted.meta]).toMatchObject([
      200,
      membership,
      { state: 'member', role: 'viewer', displayName: svc.people.bob.name },
      { wrappedKey: KEY, keyEpoch: 0 },
    ])
    expect((await svc.bob.get(`/rooms/${room}`)).one.attributes).toMatchObject({ role: 'viewer', unreadCount: 0 })
    expect((await svc.bob.get(`/room-members/${one.id}`)).status).toBe(404)
    expect((await accept(svc.bob, one.id)).status).toBe(404)
  })
})

test('an invitation withdrawn while the list is read is left out of it', async () => {
  const svc = await withOwnPeople(shared, 'ada', 'bob')
  const [kept, withdrawn] = await Promise.all(
    [await makeRoom(svc.ada), await makeRoom(svc.ada)].map((room) =>
      invite(svc.ada, room, svc.people.bob.id, 'viewer'),
    ),
  )
  const { sql } = shared.services
  const withdrawAfterLookUp: Sql = async (statement, values) => {
    const rows = await sql(statement, values)
    if (statement.name === findInvitationsOfUser.name) await svc.ada.delete(`/room-members/${withdrawn?.one.id}`)
    return rows
  }
  onTestFinished(() => void Object.assign(shared.services, { sql }))
  Object.assign(shared.services, { sql: withdrawAfterLookUp })
  const { roomMembers } = createClient({ url: svc.url, token: svc.people.bob.token })

  const listed = await roomMembers.invitations.query()

  expect(listed.map(({ id }) => id)).toEqual([kept?.one.id])
})

describe('an invitation that is not accepted', () => {
  test('an open invitation ends when it is declined, withdrawn or expired', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
    const room = await makeRoom(svc.ada)
    await joinRoom(svc, room, 'cyd', 'editor')
    const invited = async () => (await invite(svc.ada, room, svc.people.bob.id, 'viewer')).one.id
    const isGone = async (id: string) => {
      expect((await svc.bob.get(`/room-members/${id}`)).status).toBe(404)
      expect((await accept(svc.bob, id)).status).toBe(404)
    }

    const declined = await invited()
    expect((await svc.bob.delete(`/room-members/${declined}`)).status).toBe(200)
    await isGone(declined)
    const withdrawn = await invited()
    expect((await svc.cyd.delete(`/room-members/${withdrawn}`)).status).toBe(404)
    expect((await svc.ada.delete(`/room-members/${withdrawn}`)).status).toBe(200)
    await isGone(withdrawn)
    const late = await invited()
    await svc.rows(
      `update room_members set expires_at = now() - interval '1 second' where state = 'invited' and room_id = $1`,
      [room],
    )
    await isGone(late)
    expect((await svc.ada.get('/room-members')).total).toBe(3)
  })

  test("an open invitation is replaced by the next, and ends with the inviter's right", async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan')
    const room = await makeRoom(svc.ada)
    const cyd = await joinRoom(svc, room, 'cyd', 'admin')

    const first = await invite(svc.cyd, room, svc.people.bob.id, 'admin')
    const second = await invite(svc.cyd, room, svc.people.bob.id, 'viewer')
    expect([second.status, second.one.id]).toEqual([201, first.one.id])
    await invite(svc.cyd, room, svc.people.dan.id, 'admin')
    expect((await svc.ada.update('room-members', cyd, { role: 'editor' })).status).toBe(200)

    expect((await accept(svc.bob, first.one.id)).status).toBe(404)
    expect(await invitedTo(svc, room)).toEqual([])
  })

  test('an invitation without the right to invite or a current key is refused', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan', 'eve')
    const room = await makeRoom(svc.ada)
    await joinRoom(svc, room, 'cyd', 'editor')
    await joinRoom(svc, room, 'dan', 'viewer')
    const { bob, cyd, eve } = svc.people

    for (const [client, user, role, more, status] of [
      [svc.cyd, eve.id, 'viewer', {}, 403],
      [svc.dan, svc.people.dan.id, 'admin', {}, 403],
      [svc.admin, eve.id, 'viewer', {}, 403],
      [svc.bob, bob.id, 'admin', {}, 404],
      [svc.guest, bob.id, 'admin', {}, 401],
      [svc.ada, cyd.id, 'admin', {}, 409],
      [svc.ada, 1, 'viewer', {}, 404],
      [svc.ada, 999_999, 'viewer', {}, 404],
      [svc.ada, bob.id, 'assistant', {}, 422],
      [svc.ada, bob.id, 'viewer', { keyEpoch: 1 }, 409],
      [svc.ada, bob.id, 'viewer', { wrappedKey: '<b>' }, 422],
      [svc.ada, undefined, 'viewer', {}, 422],
    ] as const)
      expect([user, role, more, (await invite(client, room, user, role as 'admin', more)).status]).toEqual([
        user,
        role,
        more,
        status,
      ])
    expect(await invitedTo(svc, room)).toEqual([])
    expect(await readMembership(svc, room, cyd.id)).toMatchObject({ role: 'editor' })
  })
})

describe('an invitation for keys that its person has no more', () => {
  const linkKey = 'aXY=|dGFn|a2V5'
  const changeKeys = async (svc: RoomsApp, name: 'cyd') => {
    const publicKey = makePublicKey('other')
    const { status } = await svc[name].post('/user-keychain-values/actions/batch-update', { publicKey })
    const stored = await svc.rows('select public_key from users where id = $1', [svc.people[name].id])
    expect([status, stored]).toEqual([200, [{ public_key: publicKey }]])
  }

  test('an invitation for replaced keys is deleted, unless a link opens it', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'cyd', 'dan')
    const { cyd, dan } = svc.people
    const [room, second] = [await makeRoom(svc.ada), await makeRoom(svc.ada)]
    const { one } = await invite(svc.ada, room, cyd.id, 'editor')
    const byLink = await invite(svc.ada, second, cyd.id, 'editor', { wrappedKey: linkKey })
    const others = await invite(svc.ada, room, dan.id, 'editor')

    await changeKeys(svc, 'cyd')

    expect((await svc.cyd.get('/room-members')).list.map(({ id }) => id)).toEqual([byLink.one.id])
    expect((await svc.dan.get('/room-members')).list.map(({ id }) => id)).toEqual([others.one.id])
    const gone = `select stream, subject from change_log
      where kind = 'room-members.deleted' and stream = any($1) order by stream`
    const streams = [`room:${room}`, `room:${second}`, `user:${cyd.id}`, `user:${dan.id}`]
    expect(await svc.rows(gone, [streams])).toEqual([
      { stream: `room:${room}`, subject: one.id },
      { stream: `user:${cyd.id}`, subject: one.id },
    ])
    // Invited people do not have the key of the room yet.
    const sql = 'select from rooms where rekey_required_since is not null and id = any($1)'
    expect(await svc.rows(sql, [[room, second]])).toEqual([])
    expect((await accept(svc.cyd, byLink.one.id)).status).toBe(200)
  })

  test('an invitation for keys that its person has reset is gone', async () => {
    const svc = await withOwnPeople(shared, 'ada')
    const { browser, id } = await signIn(svc, 'fay')
    const room = await makeRoom(svc.ada)
    await invite(svc.ada, room, id, 'editor')

    expect((await browser.send('POST', '/req/profile/reset')).status).toBe(200)

    expect(await invitedTo(svc, room)).toEqual([])
  })
})

describe('invitations that have expired', () => {
  const expire = (svc: RoomsApp, person: number) =>
    svc.rows(
      `update room_members set expires_at = now() - interval '1 second' where state = 'invited' and user_id = $1`,
      [person],
    )
  const clean = (svc: RoomsApp) => svc.host.roomMembers.deleteExpiredInvitations()

  test('expired invitations are deleted with their keys, and nothing else', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan')
    const { bob, dan } = svc.people
    const room = await makeRoom(svc.ada)
    await joinRoom(svc, room, 'cyd', 'editor')
    for (const person of [bob, dan]) await invite(svc.ada, room, person.id, 'editor')
    await clean(svc)
    await expire(svc, bob.id)

    expect([await clean(svc), await clean(svc)]).toEqual([{ deleted: 1 }, { deleted: 0 }])

    expect(await invitedTo(svc, room)).toEqual([{ person: dan.id, room }])
    const members = `select from room_members where state = 'member' and room_id = $1`
    expect(await svc.rows(members, [room])).toHaveLength(3)
  })

  test('expired invitations wait for changes in their room, and stay if renewed', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob')
    const { bob } = svc.people
    const [room, other] = [await makeRoom(svc.ada), await makeRoom(svc.ada)]
    for (const at of [room, other]) await invite(svc.ada, at, bob.id, 'editor')
    await clean(svc)
    await expire(svc, bob.id)
    await using client = await openClient(svc.env.DATABASE_URL)
    await client.query('begin')
    await client.query(`select from rooms where id = ${room} for no key update`)
    await client.query(
      `update room_members set expires_at = now() + interval '1 day' where state = 'invited' and room_id = ${room}`,
    )

    expect(await clean(svc)).toEqual({ deleted: 1 })
    await client.query('commit')

    expect(await clean(svc)).toEqual({ deleted: 0 })
    expect(await invitedTo(svc, room, other)).toEqual([{ person: bob.id, room }])
  })
})

describe('the link of an invitation', () => {
  test('an invitation link makes one member, and only one', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
    const room = await makeRoom(svc.ada)
    const { proof, proofHash } = createLink()
    const { one } = await invite(svc.ada, room, undefined, 'editor', { proofHash })

    expect(one.attributes).toMatchObject({ state: 'invited', displayName: null })
    expect((await svc.bob.get('/room-members')).list).toEqual([])
    for (const body of [{}, { proof: 'x' }, { proof: proofHash }])
      expect((await accept(svc.bob, one.id, body)).status).toBe(404)
    const accepted = await accept(svc.bob, one.id, { proof })
    expect([accepted.status, accepted.one.attributes, accepted.meta]).toMatchObject([
      200,
      { role: 'editor', username: svc.people.bob.username },
      { wrappedKey: KEY },
    ])
    expect((await accept(svc.cyd, one.id, { proof })).status).toBe(404)
    expect(await svc.rows('select from room_members where proof_hash is not null and room_id = $1', [room])).toEqual([])
    expect(svc.log.join()).not.toContain(proof)
  })

  test('an invitation link shows its invitation, and can be accepted afterwards', async () => {
    await using svc = await startRooms({ PEOPLE_SEARCHES_PER_MINUTE: '12' })
    const room = await makeRoom(svc.ada)
    const { proof, proofHash } = createLink()
    const { one } = await invite(svc.ada, room, undefined, 'viewer', { proofHash })
    const look = (by: Client, given: object = { proof }, id = one.id) =>
      by.post(`/room-members/${id}/actions/preview`, given)
    const members = () => svc.rows('select * from room_members where room_id = $1 order by id', [room])
    const before = await members()

    const { status, meta } = await look(svc.bob)
    expect([status, meta]).toEqual([
      200,
      {
        role: 'viewer',
        roomName: 'Chess',
        inviterName: svc.people.ada.name,
        expiresAt: one.attributes['expiresAt'],
        _svc_sync_log: [],
      },
    ])
    for (const given of [{}, { proof: createLink().proof }]) expect((await look(svc.bob, given)).status).toBe(404)
    expect((await look(svc.bob, { proof }, 'invitation-999999')).status).toBe(404)
    expect((await look(svc.guest)).status).toBe(401)
    expect(await members()).toEqual(before)
    for (let n = 0; n < 12; n++) await look(svc.cyd, {})
    expect((await look(svc.cyd)).status).toBe(429)

    expect((await accept(svc.bob, one.id, { proof })).status).toBe(200)
    expect((await look(svc.dan)).status).toBe(404)
  })

  test('an invitation link older than a removal does not readmit the removed person', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
    const room = await makeRoom(svc.ada)
    const member = await joinRoom(svc, room, 'bob', 'viewer')
    const [old, later] = [createLink(), createLink()]
    const known = (await invite(svc.ada, room, undefined, 'admin', { proofHash: old.proofHash })).one.id
    await svc.ada.delete(`/room-members/${member}`)

    for (const action of ['preview', 'accept'])
      expect((await svc.bob.post(`/room-members/${known}/actions/${action}`, { proof: old.proof })).status).toBe(404)
    expect((await accept(svc.cyd, known, { proof: old.proof })).status).toBe(200)
    const { one } = await invite(svc.ada, room, undefined, 'viewer', { proofHash: later.proofHash })
    expect((await accept(svc.bob, one.id, { proof: later.proof })).status).toBe(200)
  })

  test('a link of a named invitation is readable by its invitee alone', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
    const room = await makeRoom(svc.ada)
    const { proof, proofHash } = createLink()
    const { one } = await invite(svc.ada, room, svc.people.bob.id, 'editor', { proofHash })
    const look = async (by: Client, given: object) =>
      (await by.post(`/room-members/${one.id}/actions/preview`, given)).status

    expect(await look(svc.bob, { proof })).toBe(200)
    expect(await look(svc.bob, {})).toBe(422)
    for (const by of [svc.cyd, svc.ada, svc.admin]) expect(await look(by, { proof })).toBe(404)
  })

  test('an invitation with name and link needs both', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
    const room = await makeRoom(svc.ada)
    const { proof, proofHash } = createLink()
    const { one } = await invite(svc.ada, room, svc.people.bob.id, 'editor', { proofHash })

    expect((await accept(svc.cyd, one.id, { proof })).status).toBe(404)
    expect((await accept(svc.bob, one.id)).status).toBe(422)
    expect((await accept(svc.bob, one.id, { proof: 'wrong' })).status).toBe(422)
    expect((await accept(svc.bob, one.id, { proof })).status).toBe(200)
  })

  test("an invitation link changes no member's role, and remains for its invitee", async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd')
    const room = await makeRoom(svc.ada)
    await joinRoom(svc, room, 'bob', 'viewer')
    const { proof, proofHash } = createLink()
    const { one } = await invite(svc.ada, room, undefined, 'admin', { proofHash })

    expect((await accept(svc.bob, one.id, { proof })).status).toBe(409)

    expect(await readMembership(svc, room, svc.people.bob.id)).toMatchObject({ role: 'viewer' })
    expect((await accept(svc.cyd, one.id, { proof })).status).toBe(200)
  })

  test('an invitation link is used by one of several who try concurrently', async () => {
    const svc = await withOwnPeople(shared, 'ada', 'bob', 'cyd', 'dan', 'eve')
    const room = await makeRoom(svc.ada)
    const { proof, proofHash } = createLink()
    const { one } = await invite(svc.ada, room, undefined, 'viewer', { proofHash })

    const tries = await Promise.all([svc.bob, svc.cyd, svc.dan, svc.eve].map((by) => accept(by, one.id, { proof })))

    expect(tries.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404])
  })
})
