import { beforeEach, expect, test } from 'vitest'
import { toOne } from '../../kit/json-api/client.ts'
import { startPlanets } from '../../kit/json-api/planets.ts'
import { whileChanging } from '../../kit/locks.ts'
import { shareResource } from '../../kit/share-resource.ts'

const space = shareResource(startPlanets)
beforeEach(() => space.clear())

test('a new type is seen through scopes that nest three deep', async () => {
  const { svc, as, create, people } = space
  await create({ name: 'Terra' }, people.ada)
  await svc.rows(`insert into moons (name, planet_id) values ('Luna', 1)`)
  await svc.rows(`insert into craters (name, moon_id) values ('Tycho', 1)`)

  expect((await as.ada('GET', '/craters?include=moon')).included).toMatchObject([{ attributes: { name: 'Luna' } }])
  expect((await as.bob('GET', '/craters')).data).toEqual([])
  expect((await as.admin('GET', '/craters')).data).toHaveLength(1)
})

test('a new type is changed only by those whom its declaration allows', async () => {
  const { svc, as, create, people } = space
  await create({ name: 'Terra' }, people.ada)
  const around = { planet: toOne('planets', 1) }
  const moon = (name: string, id?: string) => ({ data: { type: 'moons', ...(id && { id }), attributes: { name } } })
  const made = { data: { ...moon('Luna').data, relationships: around } }
  const fixed = { data: { ...moon('Fixed').data, relationships: around } }

  expect((await as.ada('POST', '/moons', made)).status).toBe(201)
  expect((await as.ada('POST', '/moons', fixed)).status).toBe(201)
  const hidden = await as.bob('POST', '/moons', made)
  expect([hidden.status, hidden.errors[0].source]).toEqual([404, { pointer: '/data/relationships/planet/data' }])
  expect((await as.ada('PATCH', '/moons/1', moon('Moon', '1'))).data.attributes).toEqual({ name: 'Moon' })
  for (const [who, path, status, code] of [
    ['bob', '/moons/1', 404, 'not_found'],
    ['bob', '/moons/2', 404, 'not_found'],
    ['ada', '/moons/2', 403, 'not_permitted'],
    ['admin', '/moons/2', 403, 'not_permitted'],
    ['guest', '/moons/1', 401, 'signed_out'],
  ] as const)
    for (const answer of [await as[who]('PATCH', path, moon('No', path.slice(-1))), await as[who]('DELETE', path)])
      expect([who, path, answer.status, answer.errors[0].code]).toEqual([who, path, status, code])
  expect(await svc.rows('select name from moons order by id')).toEqual([{ name: 'Moon' }, { name: 'Fixed' }])
  expect((await as.ada('DELETE', '/moons/1')).status).toBe(200)
})

test('a new type is not changed by somebody who lost the right while waiting', async () => {
  const { svc, as, create, people } = space
  await create({ name: 'Terra' }, people.ada)
  await svc.rows(`insert into moons (name, planet_id) values ('Luna', 1)`)
  const taken = `update planets set owner_id = ${people.bob.id}; update moons set updated_at = now()`
  const change = { data: { type: 'moons', id: '1', attributes: { name: 'No' } } }

  const { status } = await whileChanging(svc, taken, () => as.ada('PATCH', '/moons/1', change))

  expect([status, await svc.rows('select name from moons')]).toEqual([404, [{ name: 'Luna' }]])
})

test('a new type is hidden from others and from guests', async () => {
  const { svc, as, create, people } = space
  await create({ name: 'Terra' }, people.ada)
  await svc.rows(`insert into moons (name, planet_id) values ('Luna', 1)`)
  for (const path of [
    '/planets/1',
    '/planets/1/moons',
    '/planets/1/relationships/owner',
    '/moons/1',
    '/moons/1/planet',
  ]) {
    expect([path, (await as.ada('GET', path)).status]).toEqual([path, 200])
    expect([path, (await as.bob('GET', path)).status]).toEqual([path, 404])
    expect([path, (await as.guest('GET', path)).status]).toEqual([path, 401])
  }
  expect((await as.bob('GET', '/planets')).meta.page.total).toBe(0)
  for (const path of ['/planets/1', '/planets/99'])
    expect((await as.ada('DELETE', path)).errors[0].code).toBe('admin_only')
})
