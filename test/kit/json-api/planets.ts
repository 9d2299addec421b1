import { defineEntity, p } from '@mikro-orm/core'
import { MikroORM } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { User } from '../../../entities/identity/user.ts'
import { entities } from '../../../entities/index.ts'
import { timestamps as columns, id } from '../../../entities/sql/columns.ts'
import { everyRowForAdmins } from '../../../entities/sql/scope.ts'
import { router, userWith } from '../../../routers/core/trpc.ts'
import { users } from '../../../routers/identity/users.ts'
import { createCatalogue } from '../../../routers/resource/catalogue.ts'
import { attribute, choice, defineResource, filter, many, one, timestamps } from '../../../routers/resource/declare.ts'
import { resourceId } from '../../../routers/resource/ids.ts'
import { member, rowAction } from '../../../routers/verbs/action.ts'
import { defineReads, getRow } from '../../../routers/verbs/read.ts'
import { defineRelationshipWrites } from '../../../routers/verbs/relationship.ts'
import { defineWrites } from '../../../routers/verbs/write.ts'
import { startApp, type TestApp, type TestUser } from '../app.ts'
import { toOne } from './client.ts'
import { serveJsonApi } from './serve.ts'

/** The entities of a new type ... */
export const Planet = defineEntity({
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
export const Crater = defineEntity({
  name: 'Crater',
  tableName: 'craters',
  properties: { id, ...columns, name: p.string(), moon: () => p.manyToOne(Moon).deleteRule('cascade').ref() },
})
export const Moon = defineEntity({
  name: 'Moon',
  tableName: 'moons',
  properties: { id, ...columns, name: p.string(), planet: () => p.manyToOne(Planet).deleteRule('cascade').ref() },
})

/** ... and its declaration, with the verbs below. */
const ownPlanets = everyRowForAdmins((row, sql) => `${row}.owner_id = ${sql.param('viewer')}`)
export const name = z.string().trim().min(1).max(80).describe('Unique.')
const mass = z.number().int().min(1).nullable().describe('In tons.')

const tons = z.coerce.number().int().min(0).describe('Tons.')
const span = z
  .string()
  .regex(/^\d+-\d+$/)
  .transform((text) => ({ from: Number(text.split('-')[0]), to: Number(text.split('-')[1]) }))

export const planets = defineResource({
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

export const moons = defineResource({
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
export const craters = defineResource({
  type: 'craters',
  about: 'Craters of moons.',
  entity: Crater,
  scope: (row, sql) => sql.exists('moons', (moon) => `${moon}.id = ${row}.moon_id and ${moons.scope(moon, sql)}`),
  ids: {
    schema: z.string().regex(/^crater-[1-9]\d{0,8}$/),
    toKey: (id) => Number(id.replace('crater-', '')),
    sql: (row) => `'crater-' || ${row}.id`,
  },
  attributes: { name: attribute(name) },
  relations: { moon: one('moons') },
})

const visitors = defineRelationshipWrites(planets, 'visitors')

export const app = router({
  planets: router({
    ...defineReads(planets),
    ...defineWrites(planets),
    addVisitors: visitors.add,
    replaceVisitors: visitors.replace,
    removeVisitors: visitors.remove,
    greet: rowAction(planets, 'greet', userWith('write'))
      .input(z.strictObject({ id: resourceId, words: z.string().min(1) }))
      .mutation(async ({ ctx, input }) => ({
        data: await getRow(ctx, planets, input.id),
        meta: { words: input.words },
      })),
    largest: member(planets, 'largest', userWith('read'))
      .input(z.strictObject({}).prefault({}))
      .query(({ ctx }) => getRow(ctx, planets, '1')),
  }),
  moons: router({ ...defineReads(moons), ...defineWrites(moons, { by: userWith('write') }) }),
  craters: router(defineReads(craters)),
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

/** Serves the new types by the plugin of all others. */
async function serveNewTypes(svc: TestApp) {
  for (const text of tables) await svc.rows(text)
  const orm = await MikroORM.init({
    clientUrl: svc.env.DATABASE_URL ?? '',
    entities: [...entities, Planet, Moon, Crater],
    logger: () => {},
  })
  const resources = [planets, moons, craters, users]
  const records = { ...svc.services.records, resources: createCatalogue(resources, orm.getMetadata()) }
  const services: TestApp['services'] = { ...svc.services, em: orm.em, records }
  const server = await serveJsonApi(svc, { router: app, resources, services })
  const close = async () => {
    await server.close()
    await orm.close()
  }
  return { as: server.as, close, resources, [Symbol.asyncDispose]: close }
}

const abilities = ['read', 'write', 'user'] as const

export async function startPlanets() {
  const svc = await startApp()
  const admin = await svc.user({ role: 'admin', abilities: [...abilities] })
  const ada = await svc.user({ username: 'ada', abilities: [...abilities] })
  const bob = await svc.user({ username: 'bob', abilities: [...abilities] })
  const jsonApiServer = await serveNewTypes(svc)
  const as = {
    admin: jsonApiServer.as(admin.token),
    ada: jsonApiServer.as(ada.token),
    bob: jsonApiServer.as(bob.token),
    guest: jsonApiServer.as(),
  }
  const create = async (attributes: object, person: TestUser) =>
    as.admin('POST', '/planets', {
      data: { type: 'planets', attributes, relationships: { owner: toOne('users', person.id) } },
    })
  return {
    svc,
    as,
    create,
    people: { admin, ada, bob },
    /** Deletes all rows of the new types and resets their ids. */
    clear: () => svc.rows('truncate planets, moons, craters, planet_visitors restart identity'),
    async [Symbol.asyncDispose]() {
      await jsonApiServer.close()
      await svc[Symbol.asyncDispose]()
    },
  }
}
