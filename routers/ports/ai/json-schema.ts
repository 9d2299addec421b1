import { z } from 'zod'

type Schema = Record<string, unknown>

/**
 * What is not checked here but by the tool itself: a regular expression of somebody else could take for ever, and the rest
 * is not known to the library.
 */
const unchecked = new Set([
  ...['pattern', 'patternProperties', 'propertyNames', 'format', 'contentEncoding', 'contentMediaType'],
  ...['if', 'then', 'else', 'not', 'dependentSchemas', 'dependentRequired', 'dependencies', 'contentSchema'],
  ...['unevaluatedItems', 'unevaluatedProperties', '$dynamicRef', '$schema', '$id', 'id', '$anchor', 'default'],
])

/** Members whose own members are names that somebody chose, not words of JSON Schema. */
const maps = new Set(['properties', '$defs', 'definitions'])

/** Checks a value against a JSON schema of an object, and gives it back as it is. Throws where the schema is not one. */
export function objectOf(schema: Schema): z.ZodType<Record<string, unknown>> {
  const checked = z.fromJSONSchema({ ...(checkable(schema) as Schema), type: 'object' } as never)
  return z.record(z.string(), z.unknown()).superRefine((value, ctx) => {
    const { error } = checked.safeParse(value)
    for (const { path, message } of error?.issues ?? []) ctx.addIssue({ code: 'custom', path, message })
  })
}

function checkable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(checkable)
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.entries(schema).filter(([name]) => !unchecked.has(name))
  return Object.fromEntries(
    members.map(([name, member]) => [name, maps.has(name) ? ofEach(member) : plainOr(name, member)]),
  )
}

/** Values that are compared are no schemas. */
const plainOr = (name: string, member: unknown) => (name === 'enum' || name === 'const' ? member : checkable(member))

const ofEach = (named: unknown) =>
  typeof named === 'object' && named !== null
    ? Object.fromEntries(Object.entries(named).map(([name, schema]) => [name, checkable(schema)]))
    : named
