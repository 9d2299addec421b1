import { z } from 'zod'
import { alternatives } from '../http/alternatives.ts'

/** The handling of a standard member of another API. */
type Handling = 'passed on' | 'translated' | 'ignored' | 'refused'

interface Member {
  handling: Handling
  /** Explains the handling, or its reason. */
  note: string
  /** Values without effect; for all others, the response names the member as ignored. */
  neutral?: readonly Neutral[]
}

/** All standard members with their handling. Reading, documentation and tests walk the registered schemas. */
const members = new WeakMap<z.ZodType, Member>()

const registerMember =
  (member: Member) =>
  <Schema extends z.ZodType>(schema: Schema): Schema => {
    const described = schema.describe(`${writeSentence(member)}.`) as Schema
    members.set(described, member)
    return described
  }

const writeSentence = ({ handling, note }: Member) =>
  `${handling[0]?.toUpperCase()}${handling.slice(1)}${note ? `: ${note}` : ''}`

/** Marks a member that is passed to the provider, under the provider's own name. */
export const passThrough = <Schema extends z.ZodType>(schema: Schema, note = ''): Schema =>
  registerMember({ handling: 'passed on', note })(schema)

/** Marks a member that is translated for the provider. */
export const translate = <Schema extends z.ZodType>(schema: Schema, note: string): Schema =>
  registerMember({ handling: 'translated', note })(schema)

/** Marks a member that is ignored. The response names it, unless its value has no effect. */
export const ignore = (note: string, ...neutral: readonly Neutral[]) =>
  registerMember({ handling: 'ignored', note, neutral: [false, '', ...neutral] })(z.unknown().optional())

/** Marks a member that is ignored without notice, because it does not affect the answer. */
export const ignoreSilently = (note: string) => registerMember({ handling: 'ignored', note })(z.unknown().optional())

type Neutral = string | number | boolean

/**
 * Marks a member that is refused, except for values without effect. The reason follows the name of the member in the
 * error.
 */
export const refuse = (reason: string, ...neutral: readonly Neutral[]) =>
  registerMember({ handling: 'refused', note: reason })(
    z.custom<Neutral | object | null>((value) => isNeutral(value, neutral), reason).optional(),
  )

const isNeutral = (value: unknown, neutral: readonly Neutral[]) =>
  value === undefined || value === null || neutral.includes(value as Neutral) || isEmpty(value)

/** Returns true for an empty list or object, which has no effect. */
const isEmpty = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length === 0

interface MemberRow extends Member {
  /** Its path, such as `messages[].name`. */
  name: string
}

/** Lists all standard members of a request, nested ones after their parents. */
function listMembers(schema: z.ZodType): MemberRow[] {
  const rows = new Map<string, MemberRow>()
  for (const { name, member } of walkSchema(schema, '')) rows.set(name, { name, ...member })
  return [...rows.values()]
}

/** Yields the registered members with their paths; the schemas are trees. */
function* walkSchema(schema: z.ZodType, path: string): Generator<{ name: string; member: Member }> {
  if (schema instanceof z.ZodObject) yield* walkObject(schema, path)
  else
    for (const inner of listInnerSchemas(schema))
      yield* walkSchema(inner, schema instanceof z.ZodArray ? `${path}[]` : path)
}

function* walkObject({ shape }: z.ZodObject, path: string): ReturnType<typeof walkSchema> {
  for (const [name, inner] of Object.entries(shape as Record<string, z.ZodType>)) {
    const own = path ? `${path}.${name}` : name
    const member = members.get(inner)
    if (member) yield { name: own, member }
    yield* walkSchema(inner, own)
  }
}

/** Lists the schemas inside a schema, as zod stores them; the options of an enum are no schemas. */
function listInnerSchemas(schema: z.ZodType): z.ZodType[] {
  const { def, options = [] } = schema as unknown as { def: Record<string, unknown>; options?: unknown[] }
  const parts = [def['element'], def['in'], def['out'], def['innerType'], ...options]
  return [...parts.filter((part) => part instanceof z.ZodType), ...(alternatives.get(schema) ?? [])]
}

/** Lists the ignored members of a request that the response names. */
export function reportedMembers(schema: z.ZodType, value: unknown): string[] {
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || value === null) return []
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, inner]) => {
    const member: unknown = (value as Record<string, unknown>)[name]
    const { neutral } = members.get(inner) ?? {}
    return neutral && !isNeutral(member, neutral) ? name : []
  })
}

/** Renders the table as Markdown for the API reference. */
export function describeMembers(schema: z.ZodType): string {
  const rows = listMembers(schema).map(({ name, handling, note }) => `| \`${name}\` | ${handling} | ${note} |`)
  const unknown =
    'A member that is not known is ignored, and named in `x-ignored-parameters`, unless this service refuses such.'
  return ['Each member is handled as follows:', '', '| Member | | |', '|---|---|---|', ...rows, '', unknown].join('\n')
}
