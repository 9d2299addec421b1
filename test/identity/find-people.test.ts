import { expect, test } from 'vitest'
import { makePublicKey } from '../kit/identity/people.ts'
import { invite, joinRoom, makeRoom, startRooms } from '../kit/rooms/rooms.ts'

const start = async (settings: Record<string, string> = {}) => {
  const svc = await startRooms(settings)
  await svc.rows(
    `insert into users (username, email, name) values
       ('grace', 'grace.h@example.org', 'Grace 100%'), ('linus', 'linus@example.org', 'Zoë Ångström'),
       ('under_score', 'u@example.org', 'Under'), ('underXscore', 'x@example.org', 'Other')`,
  )
  const findPeople = async (query: string, by = svc.ada) => {
    const { status, meta } = await by.post('/users/actions/search', { query })
    return status === 200 ? (meta['people'] as { username: string; email: string | null }[]) : status
  }
  const names = async (query: string) => {
    const people = await findPeople(query)
    return Array.isArray(people) ? people.map(({ username }) => username) : people
  }
  return Object.assign(svc, { findPeople, names })
}

test('people are found by any spelling of a part of their name or username', async () => {
  await using svc = await start()

  expect(await svc.names('GRAC')).toEqual(['grace'])
  expect(await svc.names('  Ångst ')).toEqual(['linus'])
  expect(await svc.findPeople('the bob')).toEqual([
    {
      id: `${svc.people.bob.id}`,
      displayName: 'The bob',
      username: 'bob',
      email: null,
      publicKey: makePublicKey('bob'),
    },
  ])
})

test('no character of a search for people is a wildcard', async () => {
  await using svc = await start()

  expect(await svc.names('%%%')).toEqual([])
  expect(await svc.names('___')).toEqual([])
  expect(await svc.names('00%')).toEqual(['grace'])
  expect(await svc.names('r_s')).toEqual(['under_score'])
})

test('a search for people needs three characters and finds at most five other people', async () => {
  await using svc = await start()
  await svc.rows(
    `insert into users (username, email, name) select 'many' || n, 'm' || n || '@example.org', 'Many' from generate_series(1, 9) n`,
  )

  for (const query of ['', 'ab', '  a  ', '😀😀', 'x'.repeat(300)]) expect(await svc.findPeople(query)).toBe(422)
  expect(await svc.names('many')).toHaveLength(5)
  expect(await svc.names('svc')).toEqual([])
  expect(await svc.names('ada')).toEqual([])
})

test('an e-mail address is found and shown only for its full spelling', async () => {
  await using svc = await start()

  expect(await svc.names('grace.h@example')).toEqual([])
  expect(await svc.names('@example.org')).toEqual([])
  expect(await svc.findPeople('Grace.H@example.org')).toMatchObject([
    { username: 'grace', email: 'grace.h@example.org' },
  ])
})

test('each person may search so often a minute, and guests not at all', async () => {
  await using svc = await start({ PEOPLE_SEARCHES_PER_MINUTE: '2' })

  const own = [await svc.findPeople('grace'), await svc.findPeople('grace'), await svc.findPeople('grace')]

  expect(own.map((answer) => (Array.isArray(answer) ? 200 : answer))).toEqual([200, 200, 429])
  expect(await svc.findPeople('grace', svc.bob)).toHaveLength(1)
  expect(await svc.findPeople('grace', svc.guest)).toBe(401)
})

test('inviting people by consecutive ids is bounded like searching for them', async () => {
  await using svc = await start({ PEOPLE_SEARCHES_PER_MINUTE: '2' })
  const room = await makeRoom(svc.ada)
  const ids = await svc.rows<{ id: number }>(`select id from users where username in ('grace', 'linus', 'under_score')`)

  const statuses: number[] = []
  for (const { id } of ids) statuses.push((await invite(svc.ada, room, id, 'viewer')).status)

  expect(statuses).toEqual([201, 201, 429])
})

test('people who share a room see each other without addresses until one is removed', async () => {
  await using svc = await start()
  const path = `/users/${svc.people.bob.id}`
  expect((await svc.ada.get(path)).status).toBe(404)
  const room = await makeRoom(svc.ada)
  const member = await joinRoom(svc, room, 'bob', 'viewer')

  const { one } = await svc.ada.get(path)
  expect(one.attributes).toMatchObject({ username: 'bob', publicKey: makePublicKey('bob') })
  expect(one.attributes).not.toHaveProperty('email')
  expect((await svc.cyd.get(path)).status).toBe(404)
  expect((await svc.ada.get('/users')).list).toHaveLength(3)
  expect((await svc.ada.get(`/rooms/${room}?include=members.user`)).included.map(({ type }) => type).sort()).toEqual([
    'room-members',
    'room-members',
    'room-members',
    'users',
    'users',
    'users',
  ])
  await svc.ada.delete(`/room-members/${member}`)
  expect((await svc.ada.get(path)).status).toBe(404)
  expect((await svc.bob.get(`/users/${svc.people.ada.id}`)).status).toBe(404)
})
