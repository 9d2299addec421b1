type Schema = Readonly<Record<string, unknown>>

/** Deeper values are left out. */
const MAX_DEPTH = 8

/** A small value of a JSON schema, the same for each: what the demo model says where it must say something of that shape. */
export function sampleValue(schema: unknown, depth = 0): unknown {
  const { type, enum: values, const: constant, anyOf, oneOf, properties } = (schema ?? {}) as Schema
  const [value] = [...listOf(values), constant].filter((known) => known !== undefined)
  if (value !== undefined) return value
  const [variant] = [...listOf(anyOf), ...listOf(oneOf)]
  if (variant) return sampleValue(variant, depth + 1)
  const kind = listOf(type)[0] ?? type ?? (properties ? 'object' : 'string')
  return kind === 'object' ? membersOf(schema as Schema, depth) : sampleOf(String(kind), schema as Schema)
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

function sampleOf(kind: string, { minimum }: Schema): unknown {
  if (kind === 'number' || kind === 'integer') return minimum ?? 1
  return { string: 'demo', boolean: true, array: [] }[kind] ?? null
}

function membersOf({ properties, required }: Schema, depth: number): Record<string, unknown> {
  if (depth > MAX_DEPTH) return {}
  const schemas = (properties ?? {}) as Schema
  const names = required === undefined ? Object.keys(schemas) : listOf(required).map(String)
  return Object.fromEntries(names.map((name) => [name, sampleValue(schemas[name], depth + 1)]))
}
