import { z } from 'zod'
import type { WireNames } from '../../http/names.ts'
import { alternatives, type Described, type ObjectSchema, text } from '../../http/openapi.ts'
import type { Members } from '../members.ts'

export type ComponentKind = 'schemas' | 'parameters' | 'responses'

/** What operations share, made at the first use and referred to from then on. */
export class Components {
  readonly members: Members
  readonly names: WireNames
  readonly schemas: Record<string, Described> = {}
  readonly parameters: Record<string, Described> = {}
  readonly responses: Record<string, Described> = {}

  constructor(members: Members, names: WireNames) {
    this.members = members
    this.names = names
  }

  use(kind: ComponentKind, name: string, make: () => Described): Described {
    const known = this[kind]
    if (!Object.hasOwn(known, name)) {
      // Types refer to each other in circles.
      known[name] = {}
      known[name] = make()
    }
    return { $ref: `#/components/${kind}/${name}` }
  }

  /** What a zod schema says. Only values of any JSON refer to themselves, and not every generator of clients can follow. */
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
        if (jsonSchema.prefixItems) asList(jsonSchema)
        // The pattern repeats the format at length; it is kept only in request schemas.
        if (io === 'output' && jsonSchema.format) delete jsonSchema.pattern
        if ('shorthand' in jsonSchema) allowShorthand(jsonSchema)
      },
    })
    return JSON.parse(JSON.stringify(own), (name, value) => (name === '$ref' ? undefined : value)) as ObjectSchema
  }
}

/** Short forms that inputs also take: a plain text, and a message without its `type`. */
const shorthands: Record<string, Described> = {
  text,
  message: {
    ...{ type: 'object', required: ['role', 'content'], properties: { role: text, content: {} } },
    not: { required: ['type'], properties: { type: {} } },
  },
}

/** Describes in place what a schema with the word `shorthand` in its metadata accepts. */
function allowShorthand(schema: Described): void {
  const { shorthand, ...own } = schema
  for (const name of Object.keys(schema)) delete schema[name]
  schema['anyOf'] = [own, shorthands[String(shorthand)]]
}

/** Describes a tuple as a list of so many items, as linters and generators of clients understand no other. */
function asList(schema: { prefixItems?: unknown; items?: unknown; minItems?: number; maxItems?: number }): void {
  const { prefixItems, ...list } = schema
  const { length } = prefixItems as unknown[]
  delete schema.prefixItems
  Object.assign(schema, { ...list, items: { anyOf: prefixItems }, minItems: length, maxItems: length })
}
