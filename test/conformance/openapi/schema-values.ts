import { randomUUID } from 'node:crypto'
import { type Json, type JsonObject, object, text, texts } from '../json.ts'

/** The one type of a schema that is more than null. */
export function typeOf(schema: JsonObject): string {
  const type = Array.isArray(schema['type']) ? texts(schema['type']).find((name) => name !== 'null') : schema['type']
  return text(type) || (Object.keys(object(schema['properties'])).length ? 'object' : 'string')
}

const makers: Record<string, (schema: JsonObject) => Json> = {
  boolean: () => true,
  integer: (schema) => lowest(schema),
  number: (schema) => lowest(schema),
  string: (schema) => madeText(schema),
}

/** A value of a simple type that the schema allows. */
export const makeValue = (schema: JsonObject): Json => makers[typeOf(schema)]?.(schema) ?? null

const step = (schema: JsonObject) => Number(schema['multipleOf'] ?? 1)
const isNumber = (value: Json | undefined) => typeof value === 'number'

function lowest(schema: JsonObject): number {
  const { minimum, exclusiveMinimum, maximum } = schema
  const bounded = isNumber(minimum) && Number(minimum) > -1e6 ? Number(minimum) : undefined
  const floor =
    isNumber(exclusiveMinimum) && Number(exclusiveMinimum) > -1e6 ? Number(exclusiveMinimum) + step(schema) : bounded
  return floor ?? Math.min(step(schema), isNumber(maximum) ? Number(maximum) : step(schema))
}

export const nextNumber = (schema: JsonObject) => lowest(schema) + step(schema)

const formats: Record<string, () => string> = {
  'date-time': () => new Date().toISOString(),
  date: () => '2001-02-03',
  time: () => '04:05:06Z',
  email: () => `conformance-${word()}@example.org`,
  uuid: () => randomUUID(),
  uri: () => `https://example.org/conformance-${word()}`,
  url: () => `https://example.org/conformance-${word()}`,
  hostname: () => `conformance-${word()}.example.org`,
  ipv4: () => '192.0.2.1',
  ipv6: () => '2001:db8::1',
}

/** A short text that is another one each time, of letters alone: every collation agrees on their order. */
export const word = () =>
  randomUUID()
    .slice(0, 8)
    .replace(/\d/g, (digit) => 'ghijklmnop'.charAt(Number(digit)))

/** A text of its own each time, as columns may be unique. */
function madeText(schema: JsonObject): string {
  const format = formats[text(schema['format'])]
  if (format) return format()
  const tries = [
    `conformance-${word()}`,
    word(),
    `c${word()}`,
    `Conformance ${word()}`,
    '1',
    'en',
    'en_US',
    'A',
    '1.0.0',
  ]
  const fitted = tries.map((value) => fitLength(value, schema))
  const pattern = text(schema['pattern'])
  return fitted.find((value) => !pattern || new RegExp(pattern, 'u').test(value)) ?? fitted[0] ?? ''
}

const fitLength = (value: string, { minLength, maxLength }: JsonObject) =>
  value.padEnd(Number(minLength ?? 0), 'x').slice(0, Number(maxLength ?? 1e6))
