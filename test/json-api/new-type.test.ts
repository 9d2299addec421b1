import { defineEntity, p } from '@mikro-orm/core'
import { MikroORM } from '@mikro-orm/postgresql'
import fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { User } from '../../entities/identity/user.ts'
import { entities } from '../../entities/index.ts'
import { timestamps as columns, id } from '../../entities/sql/columns.ts'
import { everyRowForAdmins } from '../../entities/sql/scope.ts'
import { openApiDocument } from '../../facades/docs/document.ts'
import { bodyLimitsOf } from '../../facades/http/body-limits.ts'
import { basePath } from '../../facades/http/names.ts'
import { jsonApi } from '../../facades/json-api/index.ts'
import { mediaType } from '../../facades/json-api/wire.ts'
import { createContext } from '../../routers/core/context.ts'
import { router, userWith } from '../../routers/core/trpc.ts'
import { users } from '../../routers/identity/users.ts'
import { createCatalogue } from '../../routers/resource/catalogue.ts'
import { attribute, many, one, resource, timestamps } from '../../routers/resource/declare.ts'
import { choice, filter } from '../../routers/resource/filter.ts'
import { resourceId } from '../../routers/resource/ids.ts'
import { member, rowAction } from '../../routers/verbs/action.ts'
import { getRow, reads } from '../../routers/verbs/read.ts'
import { relationshipWrites } from '../../routers/verbs/relationship.ts'
import { writes } from '../../routers/verbs/write.ts'
import { startApp, type TestApp, type TestUser } from '../kit/app.ts'
import { to, toMany } from '../kit/json-api/client.ts'
import { whileChanging } from '../kit/while-changing.ts'

/** What it takes to add a type: its entity ... */
const Planet = defineEntity({
  name: 'Planet',
  tableName: 'planets',
  properties: {
    id,
    ...columns,
    name: p.string().length(80).unique(),
    mass: p.integer().nullable(),
    owner: () => p.manyToOne(User).deleteRule('cascade').ref(),
    moons: () => p.oneToMany(Moon).mappedBy('planet'),
    visitors: () =>
      p.manyToMany(User).pivotTable('planet_visitors').owner().joinColumn('planet_id').inverseJoinColumn('user_id'),
  },
})
const Crater = defineEntity({
  name: 'Crater',
  tableName: 'craters',
  properties: { id, ...columns, name: p.string(), moon: () => p.manyToOne(Moon).deleteRule('cascade').ref() },
})
const Moon = defineEntity({
  name: 'Moon',
  tableName: 'moons',
  properties: { id, ...columns, name: p.string(), planet: () => p.manyToOne(Planet).deleteRule('cascade').ref() },
})

/** ... and its declaration, with the verbs below. */
const ownPlanets = everyRowForAdmins((row, sql) => `${row}.owner_id = ${sql.param('viewer')}`)
const name = z.string().trim().min(1).max(80).describe('Unique.')
const mass = z.number().int().min(1).nullable().describe('In tons.')

const tons = z.coerce.number().int().min(0).describe('Tons.')
const span = z
  .string()
  .regex(/^\d+-\d+$/)
  .transform((text) => ({ from: Number(text.split('-')[0]), to: Number(text.split('-')[1]) }))

const planets = resource({
  type: 'planets',
  about: 'Planets of the caller.',
  entity: Planet,
  scope: ownPlanets,
  attributes: {
    name: attribute(name, { write: true, sort: true }),
    mass: attribute(mass, { write: true, default: null, only: 'admin' }),
    moonCount: attribute(z.int().describe('How many moons it has.'), {
      sql: (row, sql) => {
        const moon = sql.alias()
        return `(select count(*)::int from moons ${moon} where ${moon}.planet_id = ${row}.id)`
      },
    }),
    ...timestamps,
  },
  relations: {
    owner: one('users', { write: true, about: 'Whose it is.' }),
    moons: many('moons'),
    visitors: many('users'),
  },
  includes: ['owner', 'moons', 'moons.planet', 'visitors'],
  filters: {
    heavierThan: filter(tons, (row, _, value) => `${row}.mass > ${value('int')}`),
    lighterThan: filter(tons, (row, _, value) => `${row}.mass < ${value('int')}`),
    madeBefore: filter(z.iso.datetime(), (row, _, value) => `${row}.created_at < ${value('timestamptz')}`),
    between: filter(span, (row, _, value) => `${row}.mass between ${value('int', 'from')} and ${value('int', 'to')}`),
    letter: choice('How the name begins.', {
      p: (row) => `${row}.name like 'P%'`,
      m: (row) => `${row}.name like 'M%'`,
    }),
    last: choice('How the name ends.', { p: (row) => `${row}.name like '%p'`, m: (row) => `${row}.name like '%m'` }),
  },
  page: { size: 2, max: 3 },
})

const moons = resource({
  type: 'moons',
  about: 'Moons of planets.',
  entity: Moon,
  scope: (row, sql) =>
    sql.exists('planets', (planet) => `${planet}.id = ${row}.planet_id and ${ownPlanets(planet, sql)}`),
  listed: (row) => `${row}.name not like 'Hidden%'`,
  mayUpdate: (row) => `${row}.name not like 'Fixed%'`,
  mayDelete: (row) => `${row}.name not like 'Fixed%'`,
  attributes: { name: attribute(name, { write: true }) },
  relations: { planet: one('planets', { alwaysVisible: true, write: 'create', about: 'Around what.' }) },
})

/** Three deep: seen by whoever sees the moon, and that is whoever sees the planet. */
const craters = resource({
  type: 'craters',
  about: 'Craters of moons.',
  entity: Crater,
  scope: (row, sql) => sql.exists('moons', (moon) => `${moon}.id = ${row}.moon_id and ${moons.scope(moon, sql)}`),
  ids: {
    schema: z.string().regex(/^crater-[1-9]\d{0,8}$/),
    keyOf: (id) => Number(id.replace('crater-', '')),
    sql: (row) => `'crater-' || ${row}.id`,
  },
  attributes: { name: attribute(name) },
  relations: { moon: one('moons') },
})

const visitors = relationshipWrites(planets, 'visitors')

const app = router({
  planets: router({
    ...reads(planets),
    ...writes(planets),
    addVisitors: visitors.add,
    replaceVisitors: visitors.replace,
    removeVisitors: visitors.remove,
    greet: rowAction(planets, 'greet', userWith('write'))
      .input(z.strictObject({ id: resourceId, words: z.string().min(1) }))
      .mutation(async ({ ctx, input }) => ({
        data: await getRow(ctx, planets, input.id),
        meta: { said: input.words },
      })),
    largest: member(planets, 'largest', userWith('read'))
      .input(z.strictObject({}).prefault({}))
      .query(({ ctx }) => getRow(ctx, planets, '1')),
  }),
  moons: router({ ...reads(moons), ...writes(moons, { by: userWith('write') }) }),
  craters: router(reads(craters)),
})

const tables = [
  `create table planets (id serial primary key, created_at timestamptz(3) default now(), updated_at timestamptz(3) default now(),
     name varchar(80) not null unique, mass int, owner_id int not null references users on delete cascade)`,
  `create table moons (id serial primary key, created_at timestamptz(3) default now(), updated_at timestamptz(3) default now(),
     name text not null, planet_id int not null references planets on delete cascade)`,
  `create table craters (id serial primary key, created_at timestamptz(3) default now(), updated_at timestamptz(3) default now(),
     name text not null, moon_id int not null references moons on delete cascade)`,
  `create table planet_visitors (planet_id int references planets on delete cascade, user_id int references users on delete cascade,
     primary key (planet_id, user_id))`,
]

/** The new types behind the plugin that serves all others. */
async function serveNewTypes(svc: TestApp) {
  for (const text of tables) await svc.rows(text)
  const orm = await MikroORM.init({
    clientUrl: svc.env.DATABASE_URL ?? '',
    entities: [...entities, Planet, Moon, Crater],
    logger: () => {},
  })
  const resources = [planets, moons, craters, users]
  const services = { ...svc.services, em: orm.em, resources: createCatalogue(resources, orm.getMetadata()) }
  const server = fastify()
  await server.register(jsonApi, {
    prefix: basePath,
    router: app,
    resources,
    baseUrl: '',
    bodyLimits: bodyLimitsOf(svc.env),
    contextOf: async (request) => {
      const { authorization } = request.headers
      const found = authorization === undefined ? {} : await svc.authenticator.authenticateBearer(authorization)
      return createContext(services, { ...found, requestId: request.id })
    },
  })
  const as =
    (person?: TestUser) => async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, data?: unknown) => {
      const response = await server.inject({
        method,
        url: `${basePath}${path}`,
        headers: { ...(person && { authorization: `Bearer ${person.token}` }), 'content-type': mediaType },
        ...(data !== undefined && { payload: JSON.stringify(data) }),
      })
      return { status: response.statusCode, headers: response.headers, ...response.json() }
    }
  const close = async () => {
    await server.close()
    await orm.close()
  }
  return { as, close, resources, [Symbol.asyncDispose]: close }
}

const abilities = ['read', 'write', 'user'] as const

async function startPlanets() {
  const svc = await startApp()
  const admin = await svc.user({ role: 'admin', abilities: [...abilities] })
  const ada = await svc.user({ username: 'ada', abilities: [...abilities] })
  const bob = await svc.user({ username: 'bob', abilities: [...abilities] })
  const served = await serveNewTypes(svc)
  const as = { admin: served.as(admin), ada: served.as(ada), bob: served.as(bob), guest: served.as() }
  const create = async (attributes: object, person: TestUser) =>
    as.admin('POST', '/planets', {
      data: { type: 'planets', attributes, relationships: { owner: to('users', person.id) } },
    })
  return {
    ...{ svc, as, create, people: { admin, ada, bob } },
    async [Symbol.asyncDispose]() {
      await served.close()
      await svc[Symbol.asyncDispose]()
    },
  }
}

describe('a new type, by its entity and its declaration alone', () => {
  test('is created, read, listed, changed and deleted', async () => {
    await using space = await startPlanets()
    const { as, create, people } = space
    const created = await create({ name: 'Terra', mass: 7 }, people.ada)
    expect([created.status, created.headers.location, created.meta]).toEqual([
      201,
      '/api/svc/v1/planets/1',
      { _svc_sync_log: [] },
    ])
    await create({ name: 'Mars' }, people.ada)
    await create({ name: 'Venus' }, people.bob)
    await create({ name: 'Pluto' }, people.ada)
    const list = await as.ada('GET', '/planets?sort=-name&page[number]=1')
    expect(list.data.map(({ attributes }: { attributes: object }) => attributes)).toMatchObject([
      { name: 'Terra', moonCount: 0 },
      { name: 'Pluto' },
    ])
    expect(list.data[0].attributes).not.toHaveProperty('mass')
    expect([list.meta.page.total, list.links.next]).toEqual([3, expect.stringContaining('page%5Bnumber%5D=2')])
    expect((await as.admin('GET', '/planets?filter[heavierThan]=5')).data).toMatchObject([
      { attributes: { name: 'Terra', mass: 7 } },
    ])
    expect((await as.ada('GET', '/planets?filter[mass]=5')).errors[0].source).toEqual({ parameter: 'filter[mass]' })
    expect((await as.ada('GET', '/planets?page[size]=4')).status).toBe(400)
    const changed = await as.admin('PATCH', '/planets/1', {
      data: { type: 'planets', id: '1', attributes: { name: 'Gaia' } },
    })
    expect(changed.data.attributes).toMatchObject({ name: 'Gaia', mass: 7 })
    expect((await create({ name: 'Gaia' }, people.ada)).status).toBe(409)
    expect(
      (await create({ name: '', nonsense: 1 }, people.ada)).errors.map(({ source }: { source: object }) => source),
    ).toEqual([{ pointer: '/data/attributes/name' }, { pointer: '/data/attributes/nonsense' }])
    expect(await as.admin('DELETE', '/planets/1')).toMatchObject({ status: 200, meta: { _svc_sync_log: [] } })
    expect((await as.ada('GET', '/planets/1')).status).toBe(404)
  })

  test('is filtered by several values of several types at once, each by its own', async () => {
    await using space = await startPlanets()
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

  test('is filtered by that of two filters which is meant, where both take the same words', async () => {
    await using space = await startPlanets()
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

  test('is seen through scopes that nest three deep', async () => {
    await using space = await startPlanets()
    const { svc, as, create, people } = space
    await create({ name: 'Terra' }, people.ada)
    await svc.rows(`insert into moons (name, planet_id) values ('Luna', 1)`)
    await svc.rows(`insert into craters (name, moon_id) values ('Tycho', 1)`)

    expect((await as.ada('GET', '/craters?include=moon')).included).toMatchObject([{ attributes: { name: 'Luna' } }])
    expect((await as.bob('GET', '/craters')).data).toEqual([])
    expect((await as.admin('GET', '/craters')).data).toHaveLength(1)
  })

  test('is changed by whom its declaration says: a row that they may not see is not there for them', async () => {
    await using space = await startPlanets()
    const { svc, as, create, people } = space
    await create({ name: 'Terra' }, people.ada)
    const around = { planet: to('planets', 1) }
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

  test('is not changed by whoever lost the right while they waited for the row', async () => {
    await using space = await startPlanets()
    const { svc, as, create, people } = space
    await create({ name: 'Terra' }, people.ada)
    await svc.rows(`insert into moons (name, planet_id) values ('Luna', 1)`)
    const taken = `update planets set owner_id = ${people.bob.id}; update moons set updated_at = now()`
    const change = { data: { type: 'moons', id: '1', attributes: { name: 'No' } } }

    const { status } = await whileChanging(svc, taken, () => as.ada('PATCH', '/moons/1', change))

    expect([status, await svc.rows('select name from moons')]).toEqual([404, [{ name: 'Luna' }]])
  })

  test('has rows that stand in no list, and are found by their id and by links alone', async () => {
    await using space = await startPlanets()
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

  test('writes its ids as its declaration says, and takes no others', async () => {
    await using space = await startPlanets()
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

  test('is hidden from others and from guests', async () => {
    await using space = await startPlanets()
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

  test('comes with what it is related to', async () => {
    await using space = await startPlanets()
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

  test('has relations that are written, actions and members', async () => {
    await using space = await startPlanets()
    const { as, create, people } = space
    await create({ name: 'Terra' }, people.ada)
    const path = '/planets/1/relationships/visitors'
    const ids = async (method: 'POST' | 'PATCH' | 'DELETE', ...given: number[]) =>
      (await as.admin(method, path, toMany('users', given))).data.map(({ id }: { id: string }) => Number(id))
    expect(await ids('POST', people.ada.id)).toEqual([people.ada.id])
    expect(await ids('PATCH', people.bob.id)).toEqual([people.bob.id])
    expect(await ids('DELETE', people.bob.id)).toEqual([])
    expect((await as.ada('POST', path, { data: null })).status).toBe(403)
    expect((await as.admin('PATCH', '/planets/1/relationships/moons', { data: [] })).errors[0].code).toBe('read_only')
    const greeted = await as.ada('POST', '/planets/1/actions/greet', { words: 'Hello' })
    expect(greeted).toMatchObject({
      status: 200,
      data: { type: 'planets', id: '1' },
      meta: { said: 'Hello', _svc_sync_log: [] },
    })
    expect((await as.ada('POST', '/planets/1/actions/greet', {})).status).toBe(422)
    expect((await as.bob('POST', '/planets/1/actions/greet', { words: 'x' })).status).toBe(404)
    expect((await as.ada('GET', '/planets/largest')).data.id).toBe('1')
  })

  test('is documented', () => {
    const { paths } = openApiDocument({ router: app, resources: [planets, moons, craters, users], baseUrl: '' }) as {
      paths: Record<string, object>
    }
    const has = (path: string) =>
      Object.keys(paths[path] ?? paths[`${basePath}${path}`] ?? {})
        .filter((key) => key !== 'parameters')
        .sort()
    expect(has('/planets')).toEqual(['get', 'post'])
    expect(has('/planets/{id}')).toEqual(['delete', 'get', 'patch'])
    expect(has('/planets/{id}/relationships/visitors')).toEqual(['delete', 'get', 'patch', 'post'])
    expect(has('/planets/{id}/actions/greet')).toEqual(['post'])
  })
})

describe('a declaration is refused at start', () => {
  const started = new MikroORM({
    clientUrl: 'postgresql://nobody@127.0.0.1/none',
    entities: [...entities, Planet, Moon, Crater],
  })
  const start = (changed: object) => () =>
    createCatalogue([{ ...moons, ...changed }, planets, craters, users], started.getMetadata())

  test.for([
    ['a relation leads to no type', { relations: { planet: one('stars') } }, 'moons.planet leads to stars'],
    ['a relation leads to rows of another type', { relations: { planet: one('users') } }, 'rows of planets'],
    ['the entity has no such property', { attributes: { size: attribute(name) } }, 'has no property size'],
    ['a relation is one where it should be many', { relations: { planet: many('planets') } }, 'planet leads to'],
    ['an include path leads nowhere', { includes: ['planet.stars'] }, 'cannot include planet.stars'],
    [
      'only the schema can be null',
      { attributes: { name: attribute(name.nullable()) } },
      'only the schema can be null',
    ],
    [
      'a default cannot be given',
      { attributes: { name: attribute(name, { write: true, default: '' }) } },
      'moons.name: its default',
    ],
  ] as const)('where %s', ([, changed, message]) => {
    expect(start({})).not.toThrow()
    expect(start(changed)).toThrow(message)
  })
})
