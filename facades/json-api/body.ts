import { z } from 'zod'
import { type Issue, Problem } from '../../routers/core/problems.ts'
import { assertRawInput } from '../../routers/core/raw-input.ts'
import type { Relation, Resource } from '../../routers/resource/declare.ts'
import type { AnyKeyMapper, Members } from './members.ts'

/** The largest number of links, as in the procedures. */
const MAX_LINKS = 1000

const identifier = z.looseObject({ type: z.string(), id: z.string() })
const identifiers = z.array(identifier).max(MAX_LINKS)
const linkage = z.union([identifier, identifiers, z.null()])
type Linkage = z.output<typeof linkage>

const relationship = z.looseObject({ data: linkage.optional(), links: z.unknown().optional() })

const envelope = z.looseObject({
  data: z.looseObject({
    type: z.string(),
    id: z.string().optional(),
    // Some libraries send the links of a resource back among its attributes; no attribute has this name.
    attributes: z
      .record(z.string(), z.unknown())
      .default({})
      .transform(({ links: _, ...attributes }) => attributes),
    relationships: z.record(z.string(), relationship).default({}),
  }),
})

/** Names of input members that are no attributes or relations, which no attribute may have. */
const reservedNames = new Set(['id', 'ifVersion'])

/** Converts a resource object to the input of a procedure; relations become ids. */
export function readResource(of: Resource, members: Members, body: unknown, id?: string): Record<string, unknown> {
  const { type, relations } = of
  const { data } = parseDocument(envelope, body)
  if (data.type !== type)
    throw new Problem('wrong_type', { issues: [{ path: ['data', 'type'], message: `is not ${type}` }] })
  if (id === undefined && data.id !== undefined)
    throw new Problem('client_id', { issues: [{ path: ['data', 'id'], message: 'is given by the server' }] })
  if (id !== undefined && data.id === undefined) throwInvalid([{ path: ['data', 'id'], message: 'is required' }])
  if (data.id !== id)
    throw new Problem('wrong_type', { issues: [{ path: ['data', 'id'], message: 'is not that of the address' }] })
  const findRelation = (written: string) => {
    const name = members.read(written, Object.keys(relations))
    const relation = name !== undefined && Object.hasOwn(relations, name) ? relations[name] : undefined
    return relation && { name, relation }
  }
  const misplaced = Object.keys(data.attributes).filter((name) => reservedNames.has(name) || findRelation(name))
  if (misplaced.length > 0)
    throwInvalid(misplaced.map((name) => ({ path: ['data', 'attributes', name], message: 'is not an attribute' })))
  const links = Object.entries(data.relationships).flatMap(([written, { data, links }]) => {
    const path = ['data', 'relationships', written]
    const { name, relation } = findRelation(written) ?? throwInvalid([{ path, message: 'is not a relation' }])
    if (data !== undefined) return [[name, readIds(relation, path, data)]]
    // A relationship without linkage has links; in a change it has no effect.
    return id !== undefined && links !== undefined ? [] : throwInvalid([{ path, message: 'must have data' }])
  })
  const values = readMembers(members.mapAttributes(of), data.attributes, ['data', 'attributes'])
  return { ...values, ...Object.fromEntries(links) }
}

/** Reads the ids of a linkage document. */
export function readLinkage(relation: Relation, body: unknown): { ids: string[] } {
  const { data } = parseDocument(z.looseObject({ data: identifiers }), body)
  const wrong = data.flatMap(({ type }, index) =>
    type === relation.to ? [] : [{ path: ['data', index, 'type'], message: `is not ${relation.to}` }],
  )
  if (wrong.length > 0) throw new Problem('wrong_type', { issues: wrong })
  return { ids: data.map(({ id }) => id) }
}

/** Returns true if the body of an action is a resource object. */
export const hasResourceObject = (body: unknown): boolean => typeof body === 'object' && body !== null && 'data' in body

/** Reads the input of an action from a plain object or a resource object. */
export function readAction({ type }: Resource, names: AnyKeyMapper, body: unknown): Record<string, unknown> {
  const plain = parsePlain(z.record(z.string(), z.unknown()), body ?? {})
  if (!hasResourceObject(plain)) return readMembers(names, plain, [])
  const { data } = parseDocument(envelope, body)
  if (data.type !== type)
    throw new Problem('wrong_type', { issues: [{ path: ['data', 'type'], message: `is not ${type}` }] })
  return readMembers(names, data.attributes, ['data', 'attributes'])
}

/** Maps members to their declared names; a declared name that is written otherwise on the wire is unknown. */
function readMembers(
  names: AnyKeyMapper,
  members: Record<string, unknown>,
  at: Issue['path'],
): Record<string, unknown> {
  const unknown: Issue[] = []
  const declared = names.read(members, (path) => unknown.push({ path: [...at, ...path], message: 'is not known here' }))
  if (unknown.length > 0) throwInvalid(unknown)
  return declared as Record<string, unknown>
}

function readIds(relation: Relation, path: string[], data: Linkage): string | string[] | null {
  if (relation.many !== Array.isArray(data))
    throwInvalid([{ path: [...path, 'data'], message: relation.many ? 'must be a list' : 'must be one' }])
  const identifiers = Array.isArray(data) ? data : data ? [data] : []
  const wrong = identifiers.find(({ type }) => type !== relation.to)
  if (wrong) throwInvalid([{ path: [...path, 'data'], message: `must be of the type ${relation.to}` }])
  const ids = identifiers.map(({ id }) => id)
  return relation.many ? ids : (ids[0] ?? null)
}

function parsePlain<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  assertRawInput(body)
  return parseSchema(schema, body)
}

/** Parses a document without its @-members, which are ignored everywhere. */
function parseDocument<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  assertRawInput(body)
  return parseSchema(schema, withoutAtMembers(body))
}

function withoutAtMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAtMembers)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name]) => !name.startsWith('@'))
  return Object.fromEntries(members.map(([name, member]) => [name, withoutAtMembers(member)]))
}

function parseSchema<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  return throwInvalid(parsed.error.issues.map(({ path, message }) => ({ path: path as (string | number)[], message })))
}

function throwInvalid(issues: Issue[]): never {
  throw new Problem('invalid_document', { issues })
}
