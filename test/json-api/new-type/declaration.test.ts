import { MikroORM } from '@mikro-orm/postgresql'
import { expect, test } from 'vitest'
import { entities } from '../../../entities/index.ts'
import { users } from '../../../routers/identity/users.ts'
import { createCatalogue } from '../../../routers/resource/catalogue.ts'
import { attribute, many, one } from '../../../routers/resource/declare.ts'
import { Crater, craters, Moon, moons, name, Planet, planets } from '../../kit/json-api/planets.ts'

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
  ['only the schema can be null', { attributes: { name: attribute(name.nullable()) } }, 'only the schema can be null'],
  [
    'a default cannot be given',
    { attributes: { name: attribute(name, { write: true, default: '' }) } },
    'moons.name: its default',
  ],
] as const)('a declaration stops the start where %s', ([, changed, message]) => {
  expect(start({})).not.toThrow()
  expect(start(changed)).toThrow(message)
})
