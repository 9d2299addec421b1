import type { Schema } from './dialects/dialect.ts'

interface Node extends Schema {
  type?: string | string[]
  $ref?: string
  enum?: unknown[]
  anyOf?: Node[]
  oneOf?: Node[]
  allOf?: Node[]
  properties?: Record<string, Node>
  required?: string[]
  items?: Node
  minItems?: number
  minimum?: number
  exclusiveMinimum?: number
  multipleOf?: number
  minLength?: number
  maxLength?: number
}

/** Deeper members that nobody requires are left out. */
const MAX_DEPTH = 4

/** Makes values that satisfy JSON schemas of words. Patterns and formats are not read. */
export class SchemaValues {
  readonly #root: Node
  readonly #words: Iterator<string>

  constructor(root: Schema, words: Iterator<string>) {
    this.#root = root
    this.#words = words
  }

  value(schema: Node = this.#root, depth = 0): unknown {
    const { $ref, allOf = [], anyOf = [], oneOf = [], ...rest } = schema
    const parts = [...allOf, ...anyOf.slice(0, 1), ...oneOf.slice(0, 1), ...($ref ? [this.#at($ref)] : [])]
    if (parts.length > 0) return this.value(Object.assign({}, ...parts, rest), depth + 1)
    if (schema['const'] !== undefined) return schema['const']
    return schema.enum ? schema.enum[0] : this.#ofType(schema, depth)
  }

  #ofType(schema: Node, depth: number): unknown {
    const type = [schema.type ?? (schema.properties ? 'object' : 'string')].flat()[0]
    switch (type) {
      case 'object':
        return this.#members(schema, depth)
      case 'array':
        return Array.from({ length: schema.minItems ?? (depth < MAX_DEPTH ? 1 : 0) }, () =>
          this.value(schema.items ?? {}, depth + 1),
        )
      case 'string':
        return this.#text(schema)
      case 'integer':
      case 'number':
        return numberOf(schema)
      default:
        return type === 'boolean' ? true : null
    }
  }

  #members({ properties = {}, required = [] }: Node, depth: number): object {
    const named = Object.entries(properties).filter(([name]) => depth < MAX_DEPTH || required.includes(name))
    return Object.fromEntries(named.map(([name, schema]) => [name, this.value(schema, depth + 1)]))
  }

  #text({ minLength = 1, maxLength = Infinity }: Node): string {
    let text = ''
    while (text.length < minLength) text += `${text && ' '}${this.#words.next().value}`
    return text.slice(0, maxLength)
  }

  /** A pointer within the document. */
  #at(reference: string): Node {
    const steps = reference.replace(/^#\/?/, '').split('/').filter(Boolean)
    return steps.reduce<Node>((node, step) => node[step] as Node, this.#root)
  }
}

function numberOf({ minimum, exclusiveMinimum, multipleOf = 1 }: Node): number {
  const least = minimum ?? (exclusiveMinimum === undefined ? 1 : exclusiveMinimum + multipleOf)
  return Math.ceil(least / multipleOf) * multipleOf
}
