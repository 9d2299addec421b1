import { z } from 'zod'
import type { FunctionTool, JsonSchema } from './tools.ts'

/** Making them takes longer than the rest of a call. */
const schemaCache = new WeakMap<z.ZodType, JsonSchema>()

/** The arguments of a tool as a model is told them. */
export function toJsonSchema({ schema, input }: FunctionTool): JsonSchema {
  const known = schema ?? schemaCache.get(input)
  if (known) return known
  const written = z.toJSONSchema(input, { target: 'draft-7', io: 'input' })
  schemaCache.set(input, written)
  return written
}

type Schema = Record<string, unknown>

/**
 * What is not checked here but by the tool itself: a regular expression of somebody else could take for ever, and the rest
 * is not known to the library.
 */
const uncheckedKeywords = new Set([
  ...['pattern', 'patternProperties', 'propertyNames', 'format', 'contentEncoding', 'contentMediaType'],
  ...['if', 'then', 'else', 'not', 'dependentSchemas', 'dependentRequired', 'dependencies', 'contentSchema'],
  ...['unevaluatedItems', 'unevaluatedProperties', '$dynamicRef', '$schema', '$id', 'id', '$anchor', 'default'],
  ...['$defs', 'definitions'],
])

/** Of schemas within a schema, once each reference stands for what it refers to: a value is checked against each of them. */
const MAX_SCHEMAS = 5000

/** Checks a value against a JSON schema of an object, and gives it back as it is. Throws where the schema is not one. */
export function toObjectSchema(schema: Schema): z.ZodType<Record<string, unknown>> {
  const checked = z.fromJSONSchema({ ...new ReferenceInliner(schema).inline(), type: 'object' } as never)
  return z.record(z.string(), z.unknown()).superRefine((value, ctx) => {
    const { error } = checked.safeParse(value)
    for (const { path, message } of error?.issues ?? []) ctx.addIssue({ code: 'custom', path, message })
  })
}

/**
 * A schema without references: each stands for what it refers to, so that their number is the work of a check. What refers
 * to itself is checked once and not further, as the work would have no bound.
 */
class ReferenceInliner {
  readonly #root: Schema
  #schemas = 0

  constructor(root: Schema) {
    this.#root = root
  }

  inline(): Schema {
    return this.#unfold(this.#root, ['#']) as Schema
  }

  /** `open` are the references that are unfolded right now. */
  #unfold(schema: unknown, open: readonly string[]): unknown {
    if (Array.isArray(schema)) return schema.map((one) => this.#unfold(one, open))
    if (typeof schema !== 'object' || schema === null) return schema
    if (++this.#schemas > MAX_SCHEMAS) throw new Error('the schema is too large')
    const { $ref: reference, ...rest } = schema as Schema
    const members = this.#convertMembers(rest, open)
    if (typeof reference !== 'string') return members
    const target = open.includes(reference) ? {} : this.#unfold(this.#find(reference), [...open, reference])
    return Object.keys(members).length > 0 ? { allOf: [target, members] } : target
  }

  #convertMembers(schema: Schema, open: readonly string[]): Schema {
    const members = Object.entries(schema).filter(([name]) => !uncheckedKeywords.has(name))
    // What else there may be, only the patterns know.
    const known = schema['patternProperties'] ? members.filter(([name]) => name !== 'additionalProperties') : members
    return Object.fromEntries(known.map(([name, member]) => [name, this.#convertMember(name, member, open)]))
  }

  #convertMember(name: string, member: unknown, open: readonly string[]): unknown {
    // Values that are compared are no schemas.
    if (name === 'enum' || name === 'const') return member
    if (name !== 'properties' || typeof member !== 'object' || member === null) return this.#unfold(member, open)
    // Its own members are names that somebody chose, not words of JSON Schema.
    return Object.fromEntries(Object.entries(member).map(([property, of]) => [property, this.#unfold(of, open)]))
  }

  /** What a reference within the same schema refers to; nothing is fetched from elsewhere. */
  #find(reference: string): unknown {
    const [start, ...steps] = reference.split('/')
    let found: unknown = start === '#' ? this.#root : undefined
    for (const step of steps) {
      const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
      found = typeof found === 'object' && found && Object.hasOwn(found, name) ? (found as Schema)[name] : undefined
    }
    if (found === undefined) throw new Error('the reference leads nowhere')
    return found
  }
}
