import { z } from 'zod'
import { alternatives } from '../../http/alternatives.ts'
import type { WireNames } from '../../http/names.ts'
import { type JsonObject, type ObjectSchema, text } from '../../http/openapi.ts'
import type { Members } from '../members.ts'

export type ComponentKind = 'schemas' | 'parameters' | 'responses'

/** Shared components, created at first use and referred to from then on. */
export class Components {
  readonly members: Members
  readonly names: WireNames
  readonly schemas: Record<string, JsonObject> = {}
  readonly parameters: Record<string, JsonObject> = {}
  readonly responses: Record<string, JsonObject> = {}

  constructor(members: Members, names: WireNames) {
    this.members = members
    this.names = names
  }

  use(kind: ComponentKind, name: string, make: () => JsonObject): JsonObject {
    const known = this[kind]
    if (!Object.hasOwn(known, name)) {
      // Types refer to each other in circles.
      known[name] = {}
      known[name] = make()
    }
    return { $ref: `#/components/${kind}/${name}` }
  }

  /**
   * Converts a zod schema. Recursive references only occur in JSON values and are dropped, because not every client
   * generator can follow them.
   */
  fromZod(schema: z.ZodType, io: 'input' | 'output'): ObjectSchema {
    const {
      $schema: _,
      $defs: __,
      ...own
    } = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        const choices = alternatives.get(zodSchema)
        if (choices) jsonSchema.anyOf = choices.map((choice) => this.fromZod(choice, io))
        unwrapSingleChoice(jsonSchema as JsonObject)
        if (jsonSchema.prefixItems) asList(jsonSchema)
        // The pattern repeats the format at length; it is kept only in request schemas.
        if (io === 'output' && jsonSchema.format) delete jsonSchema.pattern
        if ('shorthand' in jsonSchema) allowShorthand(jsonSchema)
      },
    })
    return JSON.parse(JSON.stringify(own), (name, value) => (name === '$ref' ? undefined : value)) as ObjectSchema
  }
}

/** Replaces a choice of one schema by that schema, as linters demand. */
function unwrapSingleChoice(schema: JsonObject): void {
  for (const name of ['anyOf', 'oneOf']) {
    const [only, ...others] = (schema[name] ?? []) as JsonObject[]
    if (!only || others.length > 0) continue
    delete schema[name]
    Object.assign(schema, { ...only, ...schema })
  }
}

/** Short forms of inputs: a plain text, and a message without its `type`. */
const shorthands: Record<string, JsonObject> = {
  text,
  message: {
    type: 'object',
    required: ['role', 'content'],
    properties: { role: text, content: {} },
    not: { required: ['type'], properties: { type: {} } },
  },
}

/** Adds the short form to a schema with `shorthand` in its metadata. */
function allowShorthand(schema: JsonObject): void {
  const { shorthand, ...own } = schema
  for (const name of Object.keys(schema)) delete schema[name]
  schema['anyOf'] = [own, shorthands[String(shorthand)]]
}

/** Describes a tuple as a list of fixed length, because linters and client generators know no other form. */
function asList(schema: { prefixItems?: unknown; items?: unknown; minItems?: number; maxItems?: number }): void {
  const { prefixItems, ...list } = schema
  const { length } = prefixItems as unknown[]
  delete schema.prefixItems
  Object.assign(schema, { ...list, items: { anyOf: prefixItems }, minItems: length, maxItems: length })
}
