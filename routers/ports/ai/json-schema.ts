import { z } from 'zod'
import { isQuicklyChecked } from './schema-cost.ts'
import type { FunctionTool, JsonSchema } from './tools.ts'

/** Conversion takes longer than the rest of a call. */
const schemaCache = new WeakMap<z.ZodType, JsonSchema>()

/** Returns the JSON schema of a tool's arguments for the model. */
export function toJsonSchema({ schema, input }: FunctionTool): JsonSchema {
  const cached = schema ?? schemaCache.get(input)
  if (cached) return cached
  const converted = z.toJSONSchema(input, { target: 'draft-7', io: 'input' })
  schemaCache.set(input, converted)
  return converted
}

type Schema = Record<string, unknown>

/**
 * Keywords that only the tool checks: a foreign regular expression could run forever, and the library does not support
 * the rest.
 */
const uncheckedKeywords = new Set([
  'pattern',
  'patternProperties',
  'propertyNames',
  'format',
  'contentEncoding',
  'contentMediaType',
  'if',
  'then',
  'else',
  'not',
  'dependentSchemas',
  'dependentRequired',
  'dependencies',
  'contentSchema',
  'unevaluatedItems',
  'unevaluatedProperties',
  '$dynamicRef',
  '$schema',
  '$id',
  'id',
  '$anchor',
  'default',
  '$defs',
  'definitions',
])

/** Limit of subschemas after references are inlined, since a value is checked against each of them. */
const MAX_SCHEMAS = 5000

/** Maximum number of issues that are reported of one value. */
export const MAX_INPUT_ISSUES = 20

/**
 * Converts a JSON schema of an object to zod, which validates a value and returns it unchanged. Throws if the schema is
 * invalid.
 */
export function toObjectSchema(schema: Schema): z.ZodType<Record<string, unknown>> {
  const inlined = { ...new ReferenceInliner(schema).inline(), type: 'object' }
  const validator = z.fromJSONSchema(inlined as never)
  return z.record(z.string(), z.unknown()).superRefine((value, ctx) => {
    if (!isQuicklyChecked(inlined, value)) {
      ctx.addIssue({ code: 'custom', message: 'It has too many values to be checked.' })
      return
    }
    const { error } = validator.safeParse(value)
    for (const { path, message } of error?.issues.slice(0, MAX_INPUT_ISSUES) ?? [])
      ctx.addIssue({ code: 'custom', path, message })
  })
}

/**
 * Inlines references, so that the number of subschemas bounds the work of a check. A recursive reference is checked
 * once only.
 */
class ReferenceInliner {
  readonly #root: Schema
  #schemas = 0

  constructor(root: Schema) {
    this.#root = root
  }

  inline(): Schema {
    return this.#inline(this.#root, ['#']) as Schema
  }

  /** `open` contains the references that are being inlined. */
  #inline(schema: unknown, open: readonly string[]): unknown {
    if (Array.isArray(schema)) return schema.map((one) => this.#inline(one, open))
    if (typeof schema !== 'object' || schema === null) return schema
    if (++this.#schemas > MAX_SCHEMAS) throw new Error('the schema is too large')
    const { $ref: reference, ...rest } = schema as Schema
    const members = this.#convertMembers(rest, open)
    if (typeof reference !== 'string') return members
    const target = open.includes(reference) ? {} : this.#inline(this.#find(reference), [...open, reference])
    return Object.keys(members).length > 0 ? { allOf: [target, members] } : target
  }

  #convertMembers(schema: Schema, open: readonly string[]): Schema {
    const members = Object.entries(schema).filter(([name]) => !uncheckedKeywords.has(name))
    // Only the ignored patterns know which other properties are allowed.
    const known = schema['patternProperties'] ? members.filter(([name]) => name !== 'additionalProperties') : members
    return Object.fromEntries(known.map(([name, member]) => [name, this.#convertMember(name, member, open)]))
  }

  #convertMember(name: string, member: unknown, open: readonly string[]): unknown {
    // Values for comparison are no schemas.
    if (name === 'enum' || name === 'const') return member
    if (name !== 'properties' || typeof member !== 'object' || member === null) return this.#inline(member, open)
    // Its members are property names, not keywords.
    return Object.fromEntries(Object.entries(member).map(([property, of]) => [property, this.#inline(of, open)]))
  }

  /** Resolves a reference within the schema; nothing is fetched. */
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
