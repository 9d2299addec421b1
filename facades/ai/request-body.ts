import { TRPCError } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readIssues } from '../../routers/core/issues.ts'
import { type Issue, Problem } from '../../routers/core/problems.ts'
import { assertRawInput } from '../../routers/core/raw-input.ts'
import { toFailure } from '../http/failure.ts'
import type { ContextResolver } from '../http/procedures.ts'
import { findLeftOut, OMITTED } from './left-out.ts'

/** Parses a body by its schema; throws the same error as a procedure. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  assertRawInput(body)
  const result = schema.safeParse(body ?? {})
  if (result.success) return result.data
  throw invalidInput(result.error)
}

/**
 * Parses a request leniently: null counts as missing, and unknown members are ignored and named in the response, unless
 * the settings refuse them.
 */
export async function readRequest<Schema extends z.ZodType>(
  schema: Schema,
  resolveContext: ContextResolver,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<z.output<Schema>> {
  const { services, notes } = await resolveContext(request, reply)
  const { value, ignored } = parseLeniently(schema, request.body, services.settings.strictParameters)
  notes.setIgnoredParameters(ignored)
  return value
}

/** Removes unknown members from a body; its procedure validates everything else. */
export function dropUnknownMembers(
  schema: z.ZodType,
  body: unknown,
  isStrict: boolean,
): { input: unknown; ignored: string[] } {
  const unknown = isStrict ? [] : [...findUnknownMembers(schema, body, [])]
  if (unknown.length === 0) return { input: body, ignored: [] }
  return { input: prune(body, buildTree(unknown)), ignored: [...new Set(unknown.map(joinName))] }
}

/** Finds the paths of members that the schema does not know. */
function* findUnknownMembers(schema: z.ZodType, value: unknown, path: Path): Generator<Path> {
  if (typeof value !== 'object' || value === null) return
  const inner = unwrapOptional(schema)
  if (inner instanceof z.ZodObject) yield* findUnknownInObject(inner, value, path)
  if (!(inner instanceof z.ZodArray && Array.isArray(value))) return
  for (const [at, element] of value.entries())
    yield* findUnknownMembers(inner.element as z.ZodType, element, [...path, at])
}

function* findUnknownInObject({ shape }: z.ZodObject, value: object, path: Path): Generator<Path> {
  for (const [name, member] of Object.entries(value)) {
    const own = [...path, name]
    if (Object.hasOwn(shape, name)) yield* findUnknownMembers(shape[name] as z.ZodType, member, own)
    else yield own
  }
}

/** Unwraps optional, nullable and default schemas. */
function unwrapOptional(schema: z.ZodType): z.ZodType {
  const { innerType } = schema.def as { innerType?: z.ZodType }
  return innerType ? unwrapOptional(innerType) : schema
}

function parseLeniently<Schema extends z.ZodType>(schema: Schema, body: unknown, isStrict: boolean) {
  assertRawInput(body)
  const { result, ignored } = parseDroppingMembers(schema, body ?? {}, isStrict)
  if (!result.success) throw invalidInput(result.error)
  return { value: result.data, ignored: [...ignored] }
}

/** The largest number of passes. Each pass drops what the previous one complained about; nested unions reveal more. */
const MAX_PASSES = 5

function parseDroppingMembers<Schema extends z.ZodType>(schema: Schema, body: unknown, isStrict: boolean) {
  const ignored = new Set<string>()
  let input = body
  for (let pass = 1; ; pass++) {
    const result = schema.safeParse(input)
    const issues = result.error?.issues ?? []
    const leftOut = issues.flatMap(findLeftOut)
    const unknown = isStrict ? [] : issues.flatMap(listUnknownMembers)
    const dropped = [...leftOut.map(({ path }) => path), ...unknown, ...listNullMembers(input, issues)]
    if (dropped.length === 0 || pass === MAX_PASSES) return { result, ignored }
    for (const path of [...leftOut.map(({ name }) => name), ...unknown]) ignored.add(joinName(path))
    input = prune(input, buildTree(dropped))
  }
}

const invalidInput = (cause: z.ZodError) => new TRPCError({ code: 'BAD_REQUEST', cause })

type Path = readonly PropertyKey[]

const listUnknownMembers = (issue: z.core.$ZodIssue): Path[] =>
  issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : []

const listNullMembers = (body: unknown, issues: readonly z.core.$ZodIssue[]): Path[] =>
  issues.map(({ path }) => path).filter((path) => isNullMember(body, path))

function isNullMember(body: unknown, path: Path): boolean {
  const found = path.reduce<unknown>((value, step) => (value as Record<PropertyKey, unknown> | null)?.[step], body)
  return found === null && typeof path.at(-1) === 'string'
}

/** Joins a path to a name; elements of a list share their names. */
const joinName = (path: Path) => path.filter((step) => typeof step === 'string').join('.')

/** A tree of the paths to be dropped; a leaf is dropped. */
type Tree = Map<PropertyKey, Tree>

function buildTree(paths: readonly Path[]): Tree {
  const root: Tree = new Map()
  for (const path of paths) {
    let tree = root
    for (const step of path) {
      const next: Tree = tree.get(step) ?? new Map()
      tree.set(step, next)
      tree = next
    }
  }
  return root
}

/**
 * Copies a value without the paths of the tree in one walk, because a body may have thousands of unknown members. The
 * other entries of a list keep their positions.
 */
function prune(value: unknown, tree: Tree): unknown {
  if (Array.isArray(value)) return value.map((element, at) => pruneAt(element, tree.get(at)))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name]) => tree.get(name)?.size !== 0)
  return Object.fromEntries(kept.map(([name, member]) => [name, pruneAt(member, tree.get(name))]))
}

function pruneAt(value: unknown, tree: Tree | undefined): unknown {
  if (!tree) return value
  return tree.size === 0 ? OMITTED : prune(value, tree)
}

/**
 * Translates the issue paths of an error to the client's request; `mapPath` maps one path, and may map several paths to
 * one.
 */
export function remapIssues(error: unknown, mapPath: (path: Issue['path']) => Issue['path'], body?: unknown): unknown {
  const mapped = readIssues(error).map((issue) => ({ ...issue, path: truncatePath(body, mapPath(issue.path)) }))
  const issues = [...new Map(mapped.map((issue) => [JSON.stringify([issue.path, issue.message]), issue])).values()]
  return issues.length > 0 ? new Problem(toFailure(error).code, { issues, cause: error }) : error
}

/** Truncates a path where the body has a text instead of a list of parts. */
function truncatePath(body: unknown, path: Issue['path']): Issue['path'] {
  let value = body
  for (const [at, step] of path.entries()) {
    if (typeof value === 'string') return path.slice(0, at)
    value = (value as Record<string | number, unknown> | null | undefined)?.[step]
  }
  return path
}

/** Accepts a text in place of a list with one item. */
export const textOrList = <Item extends z.ZodType>(item: Item, toItem: (text: string) => object) =>
  z
    .preprocess((value) => (typeof value === 'string' ? [toItem(value)] : value), z.array(item))
    .meta({ shorthand: 'text' })

/** Returns the members that are neither null nor undefined. */
export const definedOnly = <Members extends object>(members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null)) as {
    [Name in keyof Members]?: NonNullable<Members[Name]>
  }
