import { beforeEach, expect, test } from 'vitest'
import { startPlanets } from '../../kit/json-api/planets.ts'
import { shareResource } from '../../kit/share-resource.ts'

const space = shareResource(startPlanets)
beforeEach(() => space.clear())

test('a new type is filtered by several values of several types at once', async () => {
  const { as, create, people } = space
  for (const [name, mass] of [
    ['Pump', 1],
    ['Prism', 2],
    ['Map', 3],
    ['Maelstrom', 4],
  ] as const)
    await create({ name, mass }, people.ada)
  const found = async (query: string) => {
    const { data, errors, meta } = await as.admin('GET', `/planets?sort=name&page[size]=3&${query}`)
    expect(errors).toBeUndefined()
    return [data.map(({ attributes }: { attributes: { name: string } }) => attributes.name).join(), meta.page.total]
  }

  expect(await found('filter[heavierThan]=1&filter[lighterThan]=4')).toEqual(['Map,Prism', 2])
  expect(await found('filter[lighterThan]=3&filter[heavierThan]=1')).toEqual(['Prism', 1])
  expect(await found('filter[between]=2-3')).toEqual(['Map,Prism', 2])
  expect(await found('filter[between]=1-4&filter[heavierThan]=2&filter[madeBefore]=2999-01-01T00:00:00Z')).toEqual([
    'Maelstrom,Map',
    2,
  ])
  expect(await found('filter[between]=1-4&filter[madeBefore]=1999-01-01T00:00:00Z')).toEqual(['', 0])
})

test('two filters that accept the same words each find their own rows', async () => {
  const { as, create, people } = space
  for (const name of ['Pump', 'Prism', 'Map']) await create({ name }, people.ada)
  const found = async (query: string) =>
    (await as.ada('GET', `/planets?sort=name&page[size]=3&${query}`)).data.map(
      ({ attributes }: { attributes: { name: string } }) => attributes.name,
    )

  expect(await found('filter[letter]=p')).toEqual(['Prism', 'Pump'])
  expect(await found('filter[last]=p')).toEqual(['Map', 'Pump'])
  expect(await found('filter[last]=m')).toEqual(['Prism'])
  expect(await found('filter[letter]=m')).toEqual(['Map'])
  expect(await found('filter[letter]=p&filter[last]=m')).toEqual(['Prism'])
})

test('a row outside every list is found by its id and by links', async () => {
  const { svc, as, create, people } = space
  await create({ name: 'Terra' }, people.ada)
  await svc.rows(`insert into moons (name, planet_id) values ('Luna', 1), ('Hidden', 1)`)
  await svc.rows(`insert into craters (name, moon_id) values ('Tycho', 2)`)
  const idsIn = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id)

  expect(idsIn(await as.ada('GET', '/moons'))).toEqual(['1'])
  expect(idsIn(await as.ada('GET', '/planets/1/moons'))).toEqual(['1'])
  expect(idsIn({ data: (await as.ada('GET', '/planets/1?include=moons')).included })).toEqual(['1'])
  expect((await as.ada('GET', '/moons/2')).data.attributes).toEqual({ name: 'Hidden' })
  expect(idsIn({ data: (await as.ada('GET', '/craters?include=moon')).included })).toEqual(['2'])
})

test('a new type writes its ids as its declaration says, and takes no others', async () => {
  const { svc, as, create, people } = space
  await create({ name: 'Terra' }, people.ada)
  await svc.rows(`insert into moons (name, planet_id) values ('Luna', 1)`)
  await svc.rows(`insert into craters (name, moon_id) values ('Tycho', 1)`)

  const read = await as.ada('GET', '/craters/crater-1?include=moon')
  expect([read.data.id, read.data.links.self, read.included.length]).toEqual([
    'crater-1',
    '/api/svc/v1/craters/crater-1',
    1,
  ])
  expect((await as.ada('GET', '/craters')).data).toMatchObject([{ id: 'crater-1' }])
  expect((await as.ada('GET', '/craters/crater-1/moon')).data).toMatchObject({ id: '1' })
  for (const path of ['/craters/1', '/craters/crater-2', '/craters/crater-01'])
    expect([path, (await as.ada('GET', path)).status]).toEqual([path, 404])
})

test('a new type comes with what it is related to where that is included', async () => {
  const { svc, as, create, people } = space
  await create({ name: 'Terra' }, people.ada)
  await svc.rows(`insert into moons (name, planet_id) values ('Luna', 1), ('Second', 1)`)
  const { data, included } = await as.ada('GET', '/planets/1?include=owner,moons.planet,moons&fields[users]=username')
  expect(data.relationships.moons.data).toEqual([
    { type: 'moons', id: '1' },
    { type: 'moons', id: '2' },
  ])
  expect(included.map(({ type, attributes }: { type: string; attributes: object }) => [type, attributes])).toEqual(
    expect.arrayContaining([
      ['users', { username: 'ada' }],
      ['moons', { name: 'Luna' }],
      ['moons', { name: 'Second' }],
    ]),
  )
  expect(included).toHaveLength(3)
  expect((await as.ada('GET', '/moons/1/planet?include=owner')).included).toMatchObject([
    { type: 'users', attributes: { username: 'ada' } },
  ])
})
