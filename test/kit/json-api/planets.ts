import { defineEntity, p } from '@mikro-orm/core'
import { z } from 'zod'
import { User } from '../../../entities/identity/user.ts'
import { timestamps as columns, id } from '../../../entities/sql/columns.ts'
import { everyRowForAdmins } from '../../../entities/sql/scope.ts'
import { attribute, many, one, resource, timestamps } from '../../../routers/resource/declare.ts'
import { choice, filter } from '../../../routers/resource/filter.ts'

/** What it takes to add a type: its entity ... */
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

export const planets = resource({
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

export const moons = resource({
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
export const craters = resource({
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
