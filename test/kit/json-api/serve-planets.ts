import { MikroORM } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { entities } from '../../../entities/index.ts'
import { router, userWith } from '../../../routers/core/trpc.ts'
import { users } from '../../../routers/identity/users.ts'
import { createCatalogue } from '../../../routers/resource/catalogue.ts'
import { resourceId } from '../../../routers/resource/ids.ts'
import { member, rowAction } from '../../../routers/verbs/action.ts'
import { getRow, reads } from '../../../routers/verbs/read.ts'
import { relationshipWrites } from '../../../routers/verbs/relationship.ts'
import { writes } from '../../../routers/verbs/write.ts'
import { startApp, type TestApp, type TestUser } from '../app.ts'
import { to } from './client.ts'
import { Crater, craters, Moon, moons, Planet, planets } from './planets.ts'
import { serveJsonApi } from './serve.ts'

const visitors = relationshipWrites(planets, 'visitors')

export const app = router({
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
  const served = await serveNewTypes(svc)
  const as = { admin: served.as(admin.token), ada: served.as(ada.token), bob: served.as(bob.token), guest: served.as() }
  const create = async (attributes: object, person: TestUser) =>
    as.admin('POST', '/planets', {
      data: { type: 'planets', attributes, relationships: { owner: to('users', person.id) } },
    })
  return {
    ...{ svc, as, create, people: { admin, ada, bob } },
    /** Takes away all rows of the new types, so that the next ones have the first ids again. */
    clear: () => svc.rows('truncate planets, moons, craters, planet_visitors restart identity'),
    async [Symbol.asyncDispose]() {
      await served.close()
      await svc[Symbol.asyncDispose]()
    },
  }
}
