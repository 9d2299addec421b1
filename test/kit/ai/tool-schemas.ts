import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Schema } from './dialects/dialect.ts'

const ajv = new Ajv2020({ strict: false })
export const matchesSchema = (schema: Schema, value: unknown) => ajv.validate(schema, value)

export const clock = {
  name: 'clock',
  schema: { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] },
}
const day = { type: 'integer', minimum: 3, maximum: 5 }
export const weather = {
  name: 'weather',
  schema: {
    type: 'object',
    properties: {
      place: { type: 'string', minLength: 12, maxLength: 20 },
      days: { type: 'array', minItems: 2, items: day },
      unit: { enum: ['C', 'F'] },
    },
    required: ['place', 'days', 'unit'],
    additionalProperties: false,
  },
}
/** A schema of the features that every provider supports. */
export const book: Schema = {
  type: 'object',
  properties: {
    title: { type: 'string' },
    pages: { type: 'integer' },
    kind: { type: 'string', enum: ['novel', 'poem'] },
    isRead: { type: 'boolean' },
    author: { $ref: '#/$defs/person' },
    translators: { type: 'array', items: { $ref: '#/$defs/person' } },
    price: { anyOf: [{ type: 'number' }, { type: 'null' }] },
  },
  required: ['title', 'pages', 'kind', 'isRead', 'author', 'translators', 'price'],
  additionalProperties: false,
  $defs: {
    person: {
      type: 'object',
      properties: { name: { type: 'string' } },
      required: ['name'],
      additionalProperties: false,
    },
  },
}
