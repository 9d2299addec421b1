import { z } from 'zod'
import { alternatives } from '../http/openapi.ts'

/** How a standard member of another API is handled. */
type Handling = 'passed on' | 'translated' | 'ignored' | 'refused'

interface Member {
  handling: Handling
  /** What becomes of it, or the reason. */
  note: string
  /** Values that ask for nothing, where the response names the member for any other. */
  neutral?: readonly Neutral[]
}

/** Every standard member with its handling: reading, documentation and tests all walk the schemas that are registered here. */
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

/** Goes to the provider as it is, in the provider's own spelling. */
export const passThrough = <Schema extends z.ZodType>(schema: Schema, note = ''): Schema =>
  registerMember({ handling: 'passed on', note })(schema)

/** Has a meaning here that the provider is told in other words. */
export const translate = <Schema extends z.ZodType>(schema: Schema, note: string): Schema =>
  registerMember({ handling: 'translated', note })(schema)

/** Any value is accepted. The response names the member, as the answer lacks what it asks for, unless that is nothing. */
export const ignore = (note: string, ...neutral: readonly Neutral[]) =>
  registerMember({ handling: 'ignored', note, neutral: [false, '', ...neutral] })(z.unknown().optional())

/** Any value is accepted, and nobody misses anything: it concerns the request and not its answer. */
export const ignoreSilently = (note: string) => registerMember({ handling: 'ignored', note })(z.unknown().optional())

type Neutral = string | number | boolean

/** Accepts the values that ask for nothing; the reason follows the name of the member in the error. */
export const refuse = (reason: string, ...neutral: readonly Neutral[]) =>
  registerMember({ handling: 'refused', note: reason })(
    z.custom<Neutral | object | null>((value) => isNeutral(value, neutral), reason).optional(),
  )

const isNeutral = (value: unknown, neutral: readonly Neutral[]) =>
  value === undefined || value === null || neutral.includes(value as Neutral) || isEmpty(value)

/** An empty list or object asks for nothing. */
const isEmpty = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length === 0

interface MemberRow extends Member {
  /** Its path, such as `messages[].name`. */
  name: string
}

/** The table of all standard members of a request, nested ones after their parents. */
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

/** The schemas that one is made of, as zod keeps them; the options of an enum are none. */
function listInnerSchemas(schema: z.ZodType): z.ZodType[] {
  const { def, options = [] } = schema as unknown as { def: Record<string, unknown>; options?: unknown[] }
  const parts = [def['element'], def['in'], def['out'], def['innerType'], ...options]
  return [...parts.filter((part) => part instanceof z.ZodType), ...(alternatives.get(schema) ?? [])]
}

/** The paths of the ignored members of a request that the response names. */
export function reportedMembers(schema: z.ZodType, value: unknown): string[] {
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || value === null) return []
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, inner]) => {
    const given: unknown = (value as Record<string, unknown>)[name]
    const { neutral } = members.get(inner) ?? {}
    return neutral && !isNeutral(given, neutral) ? name : []
  })
}

/** The table as Markdown, for people who wonder what becomes of what their program sends. */
export function describeMembers(schema: z.ZodType): string {
  const rows = listMembers(schema).map(({ name, handling, note }) => `| \`${name}\` | ${handling} | ${note} |`)
  const unknown =
    'A member that is not known is ignored, and named in `x-ignored-parameters`, unless this service refuses such.'
  return ['What becomes of each member:', '', '| Member | | |', '|---|---|---|', ...rows, '', unknown].join('\n')
}
