import { expect, test } from 'vitest'
import { z } from 'zod'
import { describeAdminInputs } from '../../facades/web/admin-inputs.ts'
import { router } from '../../routers/core/trpc.ts'
import { attribute, defineResource } from '../../routers/resource/declare.ts'
import { defineWrites } from '../../routers/verbs/write.ts'

/** Describes the input of a new row of a type with one attribute. */
function describeAttribute(schema: z.ZodType, options: { default?: unknown; input?: z.ZodType } = {}) {
  const declared = attribute(schema, { write: true, ...options })
  const stars = defineResource({ type: 'stars', about: 'The stars.', attributes: { declared } })
  const { create } = defineWrites(stars)
  return describeAdminInputs(router({ stars: router({ create }) }))['stars.create']?.['declared']
}

test('a new attribute is described to forms with its declared words and bounds', () => {
  const schema = z.string().min(1).max(40).describe('The name of the star.')

  expect(describeAttribute(schema)).toEqual({
    kind: 'text',
    description: 'The name of the star.',
    isRequired: true,
    minLength: 1,
    maxLength: 40,
  })
  expect(describeAttribute(z.int().positive().nullable(), { default: null })).toEqual({
    kind: 'number',
    default: null,
    isNullable: true,
    min: 1,
    isWhole: true,
  })
})

const kinds: [schema: z.ZodType, kind: string][] = [
  [z.string().max(4000), 'long text'],
  [z.url(), 'address'],
  [z.iso.datetime(), 'time'],
  [z.string().meta({ writeOnly: true }), 'secret'],
  [z.enum(['dwarf', 'giant']).nullable(), 'choice'],
  [z.array(z.enum(['dwarf', 'giant'])), 'choices'],
  [z.array(z.string().max(80)), 'words'],
  [z.array(z.string().max(2048)), 'lines'],
  [z.number(), 'number'],
  [z.boolean(), 'truth'],
  [z.strictObject({ from: z.int().nullish(), to: z.int().nullish() }).nullable(), 'numbers'],
  [z.partialRecord(z.enum(['de_DE', 'en_US']), z.string()), 'texts'],
  [z.record(z.string(), z.json()), 'json'],
  [z.union([z.string(), z.number()]), 'json'],
]

test('each form of value has the kind of its field', () => {
  expect(kinds.map(([schema]) => describeAttribute(schema)?.kind)).toEqual(kinds.map(([, kind]) => kind))
})

test('forms get the inputs of administrators and those of nobody else', () => {
  const inputs = describeAdminInputs()

  expect(Object.keys(inputs)).toEqual(expect.arrayContaining(['aiModels.update', 'limits.set', 'admin.addUser']))
  expect(Object.keys(inputs).filter((path) => /^(ai|rooms|conversations|registration)\./.test(path))).toEqual([])
})
