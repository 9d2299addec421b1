import { describe, expect, test } from 'vitest'
import type { Client } from '../kit/json-api/client.ts'
import { accept, invite, join, KEY, makeRoom, membershipOf, newLink, startRooms } from '../kit/rooms/rooms.ts'

describe('an invitation', () => {
  test('an invitation is seen by whom it is for and by administrators of the room, and makes a member of who accepts it', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    await join(svc, room, 'cyd', 'editor')

    const { status, one, headers } = await invite(svc.ada, room, svc.people.bob.id, 'viewer')

    expect([status, one.id, headers.get('location')]).toEqual([
      201,
      'invitation-4',
      '/api/svc/v1/room-members/invitation-4',
    ])
    expect(one.attributes).not.toHaveProperty('wrappedKey')
    const seen = await svc.bob.get(`/room-members/${one.id}?include=user,room`)
    expect(seen.one.attributes).toMatchObject({
      state: 'invited',
      role: 'viewer',
      username: 'bob',
      inviterName: 'The ada',
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
      '4',
      { state: 'member', role: 'viewer', displayName: 'The bob' },
      { wrappedKey: KEY, keyEpoch: 0 },
    ])
    expect((await svc.bob.get(`/rooms/${room}`)).one.attributes).toMatchObject({ role: 'viewer', unreadCount: 0 })
    expect((await svc.bob.get(`/room-members/${one.id}`)).status).toBe(404)
    expect((await accept(svc.bob, one.id)).status).toBe(404)
  })
})

describe('an invitation that is not accepted', () => {
  test('an invitation that is not accepted is gone once it was declined, withdrawn or not answered in time', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    await join(svc, room, 'cyd', 'editor')
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
    await svc.rows(`update room_members set expires_at = now() where state = 'invited'`)
    await isGone(late)
    expect((await svc.ada.get('/room-members')).total).toBe(3)
  })

  test('an invitation that is not accepted is replaced by the next one to the same person, and goes with the right of who invites', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    const cyd = await join(svc, room, 'cyd', 'admin')

    const first = await invite(svc.cyd, room, svc.people.bob.id, 'admin')
    const second = await invite(svc.cyd, room, svc.people.bob.id, 'viewer')
    expect([second.status, second.one.id]).toEqual([201, first.one.id])
    await invite(svc.cyd, room, svc.people.dan.id, 'admin')
    expect((await svc.ada.update('room-members', cyd, { role: 'editor' })).status).toBe(200)

    expect((await accept(svc.bob, first.one.id)).status).toBe(404)
    expect(await svc.rows(`select from room_members where state = 'invited'`)).toEqual([])
  })

  test('an invitation is not made by somebody who may not invite, for somebody who is there, or with a key that is not in use', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    await join(svc, room, 'cyd', 'editor')
    await join(svc, room, 'dan', 'viewer')
    const { bob, cyd, eve } = svc.people

    for (const [client, user, role, more, status] of [
      [svc.cyd, eve.id, 'viewer', {}, 403],
      [svc.dan, svc.people.dan.id, 'admin', {}, 403],
      [svc.admin, eve.id, 'viewer', {}, 403],
      [svc.bob, bob.id, 'admin', {}, 404],
      [svc.guest, bob.id, 'admin', {}, 401],
      [svc.ada, cyd.id, 'admin', {}, 409],
      [svc.ada, 1, 'viewer', {}, 404],
      [svc.ada, 9999, 'viewer', {}, 404],
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
    expect(await svc.rows(`select from room_members where state = 'invited'`)).toEqual([])
    expect(await membershipOf(svc, room, cyd.id)).toMatchObject({ role: 'editor' })
  })
})

describe('the link of an invitation', () => {
  test('the link of an invitation makes a member of whoever has it, once, and of nobody else', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    const { proof, proofHash } = newLink()
    const { one } = await invite(svc.ada, room, undefined, 'editor', { proofHash })

    expect(one.attributes).toMatchObject({ state: 'invited', displayName: null })
    expect((await svc.bob.get('/room-members')).list).toEqual([])
    for (const body of [{}, { proof: 'x' }, { proof: proofHash }])
      expect((await accept(svc.bob, one.id, body)).status).toBe(404)
    const accepted = await accept(svc.bob, one.id, { proof })
    expect([accepted.status, accepted.one.attributes, accepted.meta]).toMatchObject([
      200,
      { role: 'editor', username: 'bob' },
      { wrappedKey: KEY },
    ])
    expect((await accept(svc.cyd, one.id, { proof })).status).toBe(404)
    expect(await svc.rows('select from room_members where proof_hash is not null')).toEqual([])
    expect(svc.log.join()).not.toContain(proof)
  })

  test('the link of an invitation shows whoever has it what they would accept, and can be accepted afterwards', async () => {
    await using svc = await startRooms({ PEOPLE_SEARCHES_PER_MINUTE: '12' })
    const room = await makeRoom(svc.ada)
    const { proof, proofHash } = newLink()
    const { one } = await invite(svc.ada, room, undefined, 'viewer', { proofHash })
    const look = (by: Client, given: object = { proof }, id = one.id) =>
      by.post(`/room-members/${id}/actions/preview`, given)
    const before = await svc.rows('select * from room_members order by id')

    const { status, meta } = await look(svc.bob)
    expect([status, meta]).toEqual([
      200,
      {
        ...{ role: 'viewer', roomName: 'Chess', inviterName: 'The ada' },
        ...{ expiresAt: one.attributes['expiresAt'], _svc_sync_log: [] },
      },
    ])
    for (const given of [{}, { proof: newLink().proof }]) expect((await look(svc.bob, given)).status).toBe(404)
    expect((await look(svc.bob, { proof }, 'invitation-999')).status).toBe(404)
    expect((await look(svc.guest)).status).toBe(401)
    expect(await svc.rows('select * from room_members order by id')).toEqual(before)
    for (let n = 0; n < 12; n++) await look(svc.cyd, {})
    expect((await look(svc.cyd)).status).toBe(429)

    expect((await accept(svc.bob, one.id, { proof })).status).toBe(200)
    expect((await look(svc.dan)).status).toBe(404)
  })

  test('the link of an invitation lets nobody back in who was removed after it was made', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    const member = await join(svc, room, 'bob', 'viewer')
    const [old, later] = [newLink(), newLink()]
    const known = (await invite(svc.ada, room, undefined, 'admin', { proofHash: old.proofHash })).one.id
    await svc.ada.delete(`/room-members/${member}`)

    for (const action of ['preview', 'accept'])
      expect((await svc.bob.post(`/room-members/${known}/actions/${action}`, { proof: old.proof })).status).toBe(404)
    expect((await accept(svc.cyd, known, { proof: old.proof })).status).toBe(200)
    const { one } = await invite(svc.ada, room, undefined, 'viewer', { proofHash: later.proofHash })
    expect((await accept(svc.bob, one.id, { proof: later.proof })).status).toBe(200)
  })

  test('the link of an invitation with a name is looked at by whom it is for, and by nobody else', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    const { proof, proofHash } = newLink()
    const { one } = await invite(svc.ada, room, svc.people.bob.id, 'editor', { proofHash })
    const look = async (by: Client, given: object) =>
      (await by.post(`/room-members/${one.id}/actions/preview`, given)).status

    expect(await look(svc.bob, { proof })).toBe(200)
    expect(await look(svc.bob, {})).toBe(422)
    for (const by of [svc.cyd, svc.ada, svc.admin]) expect(await look(by, { proof })).toBe(404)
  })

  test('the link of an invitation is needed beside the name where the invitation has both', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    const { proof, proofHash } = newLink()
    const { one } = await invite(svc.ada, room, svc.people.bob.id, 'editor', { proofHash })

    expect((await accept(svc.cyd, one.id, { proof })).status).toBe(404)
    expect((await accept(svc.bob, one.id)).status).toBe(422)
    expect((await accept(svc.bob, one.id, { proof: 'wrong' })).status).toBe(422)
    expect((await accept(svc.bob, one.id, { proof })).status).toBe(200)
  })

  test('the link of an invitation raises nobody: a member keeps their role, and the invitation stays for who it is meant for', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    await join(svc, room, 'bob', 'viewer')
    const { proof, proofHash } = newLink()
    const { one } = await invite(svc.ada, room, undefined, 'admin', { proofHash })

    expect((await accept(svc.bob, one.id, { proof })).status).toBe(409)

    expect(await membershipOf(svc, room, svc.people.bob.id)).toMatchObject({ role: 'viewer' })
    expect((await accept(svc.cyd, one.id, { proof })).status).toBe(200)
  })

  test('the link of an invitation is used by one of several who try at the same moment', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    const { proof, proofHash } = newLink()
    const { one } = await invite(svc.ada, room, undefined, 'viewer', { proofHash })

    const tries = await Promise.all([svc.bob, svc.cyd, svc.dan, svc.eve].map((by) => accept(by, one.id, { proof })))

    expect(tries.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404])
  })
})

describe('a membership', () => {
  test('a membership that ends takes keys and read mark along, keeps the name, and is there again for who comes back', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    const member = await join(svc, room, 'bob', 'editor')
    const { slug } = (await svc.bob.get(`/rooms/${room}`)).one.attributes
    await svc.rows(
      `insert into user_keychain_values (user_id, key, key_type, value)
       select $1, key, type, 'v' from unnest($2::text[]) key, unnest('{room_key,room_ai,room_ai_legacy}'::text[]) type`,
      [svc.people.bob.id, [slug, `${slug}:1`, 'another']],
    )

    expect((await svc.ada.delete(`/room-members/${member}`)).status).toBe(200)

    for (const path of [`/rooms/${room}`, `/room-members/${member}`, `/rooms/${room}/members`])
      expect([path, (await svc.bob.get(path)).status]).toEqual([path, 404])
    expect((await svc.bob.get('/rooms')).total).toBe(0)
    expect((await svc.bob.get('/room-members')).total).toBe(0)
    expect(await svc.rows('select distinct key from user_keychain_values')).toEqual([{ key: 'another' }])
    expect(await svc.rows('select from room_read_marks where user_id = $1', [svc.people.bob.id])).toEqual([])
    expect((await svc.ada.get(`/room-members/${member}`)).one.attributes).toMatchObject({
      state: 'removed',
      displayName: 'The bob',
    })
    expect((await svc.ada.get(`/rooms/${room}?include=members`)).included).toHaveLength(2)
    expect((await svc.ada.get(`/rooms/${room}/members`)).total).toBe(2)
    expect((await svc.ada.delete(`/room-members/${member}`)).status).toBe(403)
    expect((await svc.ada.update('room-members', member, { role: 'admin' })).status).toBe(403)

    expect(await join(svc, room, 'bob', 'viewer')).toBe(member)
    expect(await membershipOf(svc, room, svc.people.bob.id)).toEqual({ id: member, role: 'viewer', state: 'member' })
  })

  test('a membership of the last administrator ends, or becomes another, only once there is another one', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    const own = (await membershipOf(svc, room, svc.people.ada.id))?.id ?? ''
    const bob = await join(svc, room, 'bob', 'viewer')

    expect((await svc.ada.delete(`/room-members/${own}`)).status).toBe(409)
    expect((await svc.ada.update('room-members', own, { role: 'editor' })).status).toBe(409)
    expect(await membershipOf(svc, room, svc.people.ada.id)).toMatchObject({ role: 'admin', state: 'member' })
    const named = await svc.ada.update('room-members', bob, { role: 'admin' })
    expect([named.status, named.one.attributes['role']]).toEqual([200, 'admin'])
    expect((await svc.ada.delete(`/room-members/${own}`)).status).toBe(200)
    expect((await svc.bob.delete(`/room-members/${bob}`)).status).toBe(200)
    expect(await svc.rows('select from rooms')).toEqual([])
    expect(await svc.rows('select from room_members')).toEqual([])
  })

  test('of two administrators who leave a room at the same moment, one leaves alone', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    const own = (await membershipOf(svc, room, svc.people.ada.id))?.id
    const bob = await join(svc, room, 'bob', 'admin')
    await join(svc, room, 'cyd', 'viewer')

    const left = await Promise.all([svc.ada.delete(`/room-members/${own}`), svc.bob.delete(`/room-members/${bob}`)])

    expect(left.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test('a membership of the AI user is changed by nobody', async () => {
    await using svc = await startRooms()
    const room = await makeRoom(svc.ada)
    const assistant = (await membershipOf(svc, room, 1))?.id ?? ''

    expect((await svc.ada.update('room-members', assistant, { role: 'admin' })).status).toBe(403)
    expect((await svc.ada.delete(`/room-members/${assistant}`)).status).toBe(403)
  })
})

describe('the quotas', () => {
  test('the quotas limit rooms per person, members of a room, and invitations that wait', async () => {
    await using svc = await startRooms({ ROOMS_PER_PERSON: '2', ROOM_MAX_MEMBERS: '3', ROOM_MAX_INVITATIONS: '2' })
    const room = await makeRoom(svc.ada)
    await makeRoom(svc.ada)
    const third = await svc.ada.create('rooms', { name: 'Third' })
    expect([third.status, third.errors[0]?.detail]).toEqual([422, 'A person is in at most 2 rooms.'])
    const ids = []
    for (const name of ['bob', 'cyd', 'dan'] as const)
      ids.push(await invite(svc.ada, room, svc.people[name].id, 'viewer'))
    expect(ids.map(({ status }) => status)).toEqual([201, 201, 422])
    expect((await accept(svc.bob, ids[0]?.one.id ?? '')).status).toBe(200)
    expect((await accept(svc.cyd, ids[1]?.one.id ?? '')).errors[0]?.detail).toBe('A room has at most 3 members.')
    for (const name of ['One', 'Two'])
      expect((await svc.eve.create('rooms', { name })).status).toBe(name === 'One' ? 201 : 201)
    const other = await makeRoom(svc.dan)
    const { one } = await invite(svc.dan, other, svc.people.eve.id, 'viewer')
    expect((await accept(svc.eve, one.id)).errors[0]?.detail).toBe('A person is in at most 2 rooms.')
  })

  test('the quotas hold where somebody makes many rooms at the same moment', async () => {
    await using svc = await startRooms({ ROOMS_PER_PERSON: '2' })

    const made = await Promise.all(Array.from({ length: 6 }, () => svc.ada.create('rooms', { name: 'R' })))

    expect(made.map(({ status }) => status).sort()).toEqual([201, 201, 422, 422, 422, 422])
  })
})

describe('erasing a person', () => {
  test('erasing a person leaves their memberships without them, gives their rooms to others, and deletes those without people', async () => {
    await using svc = await startRooms()
    const shared = await makeRoom(svc.ada, { name: 'Shared' })
    await join(svc, shared, 'cyd', 'viewer')
    await join(svc, shared, 'bob', 'editor')
    const alone = await makeRoom(svc.ada, { name: 'Alone' })
    await invite(svc.ada, shared, svc.people.dan.id, 'admin')
    const own = (await membershipOf(svc, shared, svc.people.ada.id))?.id
    const other = await makeRoom(svc.dan, { name: 'Other' })
    await invite(svc.dan, other, svc.people.ada.id, 'viewer')
    await svc.rows('insert into room_read_marks (user_id, room_id, up_to) values ($1, $2, 0)', [
      svc.people.ada.id,
      shared,
    ])

    const { report } = await svc.host.admin.removeUser({ user: { id: svc.people.ada.id } })

    expect(report).toMatchObject({
      room_members: { deleted: 2, kept: 1 },
      room_read_marks: { deleted: 1, kept: 0 },
    })
    expect((await svc.bob.get(`/rooms/${shared}`)).one.attributes).toMatchObject({ role: 'admin' })
    expect((await svc.bob.get(`/room-members/${own}`)).one).toMatchObject({
      attributes: { state: 'removed', displayName: null, username: null },
      relationships: { user: { data: null } },
    })
    expect(await svc.rows('select name from rooms order by name')).toEqual([{ name: 'Other' }, { name: 'Shared' }])
    expect((await svc.admin.get(`/rooms/${alone}`)).status).toBe(404)
    expect(await svc.rows(`select from room_members where state = 'invited'`)).toEqual([])
  })
})
