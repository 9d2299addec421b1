import type { z } from 'zod'
import { type Definition, definitionOf } from './schemas.ts'

/** Texts and numbers of which one fits wherever a single value is wanted. */
const candidates = [
  'a',
  '1',
  'abcdefgh-1',
  'YQ==',
  'YQ==|YQ==|YQ==',
  'en_US',
  'UTC',
  'installation',
  'EUR',
  'a@example.org',
  'https://a.example.org',
  '2026-01-31',
  '2026-01-31T00:00:00.000Z',
  'aaaaa',
  1,
  0,
]

const makers: Record<string, (definition: Definition) => unknown> = {
  object: ({ shape = {} }) =>
    Object.fromEntries(Object.entries(shape).map(([name, part]) => [name, sampleInput(part)])),
  array: ({ element }) => [sampleInput(element)],
  tuple: ({ items = [] }) => items.map(sampleInput),
  record: ({ valueType }) => ({ a: sampleInput(valueType) }),
  pipe: ({ out }) => sampleInput(out),
  union: ({ options = [] }) => sampleInput(options.at(-1)),
  lazy: () => ({ a: 'b' }),
  unknown: () => ({ a: 'b' }),
  boolean: () => true,
}

/** A value that a schema takes as far as its parts tell, with every member that it knows. */
export function sampleInput(schema: z.ZodType | undefined): unknown {
  if (!schema) return undefined
  const definition = definitionOf(schema)
  const { type, innerType, entries = {}, values = [] } = definition
  const make = makers[type]
  if (make) return make(definition)
  if (innerType) return sampleInput(innerType)
  const known = [...Object.values(entries), ...values, ...candidates]
  return known.find((candidate) => schema.safeParse(candidate).success) ?? 'a'
}

type Path = readonly string[]

/** Yields every path in a value, from the root down to its texts and numbers. */
export function* walkPaths(value: unknown, path: Path = []): Generator<Path> {
  yield path
  if (typeof value !== 'object' || value === null) return
  for (const [name, part] of Object.entries(value)) yield* walkPaths(part, [...path, name])
}

/** Replaces the value at a path. */
export function replaceAt(value: unknown, path: Path, replacement: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return replacement
  if (Array.isArray(value))
    return value.map((part, index) => (String(index) === step ? replaceAt(part, rest, replacement) : part))
  return Object.fromEntries(
    Object.entries(value as object).map(([name, part]) => [
      name,
      name === step ? replaceAt(part, rest, replacement) : part,
    ]),
  )
}

/** Adds a member of this name to every object. */
export function addMember(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((part) => addMember(part, name))
  if (typeof value !== 'object' || value === null) return value
  const parts = Object.entries(value).map(([key, part]) => [key, addMember(part, name)])
  return Object.fromEntries([...parts, [name, 'x']])
}
