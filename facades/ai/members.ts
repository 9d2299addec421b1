import { z } from 'zod'
import { alternatives } from '../http/alternatives.ts'
import { leftOut } from './left-out.ts'

/**
 * The handling of a standard member of another API. What means something to the model is passed on, translated or
 * refused. A hint is passed on, and left out if its value is unknown. What is left out is named in the response.
 */
type Handling = 'passed on' | 'translated' | 'hint' | 'ignored' | 'refused'

interface Member {
  handling: Handling
  /** Explains the handling, or its reason. */
  note: string
}

/** All standard members with their handling. Reading, documentation and tests walk the registered schemas. */
const members = new WeakMap<z.ZodType, Member>()

const registerMember =
  (member: Member) =>
  <Schema extends z.ZodType>(schema: Schema): Schema => {
    const described = schema.describe(writeSentence(member)) as Schema
    members.set(described, member)
    return described
  }

const beginnings: Record<Handling, string> = {
  'passed on': 'The provider receives it',
  translated: 'It is translated',
  hint: 'It is a hint',
  ignored: 'It is left out',
  refused: 'It',
}

/** The reason of a refusal is a predicate; all other notes are clauses of their own. */
const writeSentence = ({ handling, note }: Member) => {
  const separator = handling === 'refused' ? ' ' : ': '
  return `${beginnings[handling]}${note ? separator + note : ''}.`
}

/** Marks a member that is passed to the provider, under the provider's own name. */
export const passThrough = <Schema extends z.ZodType>(schema: Schema, note = ''): Schema =>
  registerMember({ handling: 'passed on', note })(schema)

/** Marks a member that is translated for the provider. */
export const translate = <Schema extends z.ZodType>(schema: Schema, note: string): Schema =>
  registerMember({ handling: 'translated', note })(schema)

/** Marks a hint, such as an effort or a level of detail. The response names it if its value is unknown. */
export function hint<Schema extends z.ZodType>(schema: Schema, note: string) {
  const member = z.unknown().transform((value, ctx): z.output<Schema> => {
    const parsed = schema.safeParse(value)
    if (parsed.success) return parsed.data
    ctx.issues.push({ code: 'custom', input: value, message: 'is not known', params: leftOut })
    return z.NEVER
  })
  alternatives.set(member, [schema])
  return registerMember({ handling: 'hint', note })(member.optional())
}

/** Marks a member that is left out. The response names it, unless its value has no effect. */
export const ignore = (note: string, ...neutral: readonly Neutral[]) =>
  registerMember({ handling: 'ignored', note })(
    z
      .custom<Neutral | object | null>((value) => isNeutral(value, [false, '', ...neutral]), {
        error: 'is left out',
        params: leftOut,
      })
      .optional(),
  )

/** Marks a member with which an answer came, and which clients send back; nobody asks for anything by it. */
export const ignoreEcho = (note: string) => registerMember({ handling: 'ignored', note })(z.unknown().optional())

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

/** Renders the table as Markdown for the API reference. */
export function describeMembers(schema: z.ZodType): string {
  const rows = listMembers(schema).map(({ name, handling, note }) => `| \`${name}\` | ${handling} | ${note} |`)
  return ['Each member is handled as follows:', '', '| Member | | |', '|---|---|---|', ...rows, '', ...rules].join('\n')
}

const rules = [
  'What means something to the model is passed on, translated or refused. A hint whose value is not known is left out,',
  'and so is an entry of the conversation of a kind that is not listed. `x-ignored-parameters` names all that is left',
  'out, except for members with which an answer came. A member that is not known is left out, too, unless this service',
  'refuses such.',
]
