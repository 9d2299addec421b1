import { z } from 'zod'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { userWith } from '../core/trpc.ts'
import type { Relation, Resource } from '../resource/declare.ts'
import { exposeAs } from '../resource/exposure.ts'
import type { ListInput, RecordOf, RecordRef } from '../resource/record.ts'
import { createNotFoundProblem } from './lock-row.ts'
import { type PageWindow, type Query, RowReader } from './rows.ts'

export interface Page<T> {
  items: T[]
  total: number
  page: PageWindow
}

export const reader = userWith('read')

/** Defines `list`, `get` and `related` of a type with one table. The scope of the type decides who sees a row. */
export function defineReads<R extends Resource>(of: R) {
  const include = includeSchema(of)
  return {
    list: reader
      .meta(exposeAs(of, 'list'))
      .input(
        z.strictObject(buildCollectionInput(of)).prefault({}) as unknown as InputSchema<
          CollectionInput,
          ListInput<R> | undefined
        >,
      )
      .query(async ({ ctx, input }): Promise<Page<RecordOf<R>>> => {
        const window = toWindow(of, input.page)
        const { items, total } = await new RowReader(ctx).page(of, toQuery(of, input), window)
        return { items: items as RecordOf<R>[], total, page: window }
      }),

    get: reader
      .meta(exposeAs(of, 'get'))
      .input(z.strictObject({ id: of.ids.schema, include }) as unknown as InputSchema<GetQuery, GetInput<R>>)
      .query(({ ctx, input }) => getRow(ctx, of, input.id, input.include)),

    related: reader
      .meta(exposeAs(of, 'related'))
      .input(
        z.looseObject({ id: of.ids.schema, relation: relationSchema(of) }) as unknown as InputSchema<
          RelatedInput,
          RelatedOf<R>
        >,
      )
      .query(({ ctx, input }) => readRelated(ctx, of, input)),
  }
}

/** A schema with a narrower input type than the one that zod infers. */
type InputSchema<Output, Input> = z.ZodType<Output, Input>

interface GetQuery {
  id: string
  include: string[]
}

interface GetInput<R extends Resource> {
  id: string
  include?: R['includes'][number][] | undefined
}

/** The members beside `id` and `relation` are those of a list of the related type. */
interface RelatedOf<R extends Resource> {
  id: string
  relation: keyof R['relations'] & string
  include?: string[] | undefined
  sort?: string[] | undefined
  filter?: Record<string, string> | undefined
  page?: { number?: number | undefined; size?: number | undefined } | undefined
}

/** Returns one record; throws if the caller does not see it. */
export async function getRow<R extends Resource>(ctx: Context, of: R, id: string, include: readonly string[] = []) {
  const record = await new RowReader(ctx).byId(of, id, include)
  if (!record) throw createNotFoundProblem(of, id)
  return record as RecordOf<R>
}

/**
 * Returns the record of a row that was looked up by another name than its id. Throws the same error whether the row
 * does not exist or the caller does not see it, so that a guess reveals nothing.
 */
export async function getNamedRow<R extends Resource>(
  ctx: Context,
  of: R,
  found: { id: string } | undefined,
  { unknown, include = [] }: { unknown: string; include?: readonly string[] },
) {
  const record = found && (await new RowReader(ctx).byId(of, found.id, include))
  if (!record) throw new Problem('not_found', { detail: unknown })
  return record as RecordOf<R>
}

/** Returns the records that the caller sees, in the order of their ids. */
export async function getRows<R extends Resource>(ctx: Context, of: R, ids: readonly string[]) {
  return (await new RowReader(ctx).byIds(of, ids)) as RecordOf<R>[]
}

const relationSchema = ({ relations }: Resource) => z.enum(Object.keys(relations))

/** No type has as many paths. */
const MAX_INCLUDES = 50

const includeSchema = ({ includes }: Resource) =>
  z
    .array(z.enum(includes as string[]))
    .max(MAX_INCLUDES)
    .default([])

/** Builds the input of a list. */
function buildCollectionInput(of: Resource) {
  const { sorts, filters } = of
  const keys = [...new Set(sorts)].flatMap((name) => [name, `-${name}`])
  const shapes = Object.fromEntries(Object.entries(filters).map(([name, { schema }]) => [name, schema.optional()]))
  return {
    include: includeSchema(of),
    sort: z.array(z.enum(keys)).max(3).default([]),
    filter: z.strictObject(shapes).default({}),
    page: buildPageInput(of),
  }
}

/** Builds the input for the page of a list, which has no members for a type without pages. */
export function buildPageInput({ page }: Resource): z.ZodOptional<z.ZodType<Partial<PageWindow>>> {
  const whole = z.coerce.number().int().min(1)
  const window = page ? { number: whole.max(1_000_000).optional(), size: whole.max(page.max).optional() } : {}
  return z.strictObject(window).optional() as z.ZodOptional<z.ZodType<Partial<PageWindow>>>
}

/** An object without members, so that the error names a wrong member. */
export const noMembers = z.strictObject({}).optional()

/** Builds the input of a relation's address, without the id of the row. */
export const buildRelatedInput = ({ many }: Relation, of: Resource) =>
  many
    ? z.strictObject(buildCollectionInput(of))
    : z.strictObject({ include: includeSchema(of), filter: noMembers, page: noMembers })

interface CollectionInput {
  include: string[]
  sort: string[]
  filter: Record<string, unknown>
  page?: Partial<PageWindow> | undefined
}

/** Returns the part of a whole list that is its page. */
function toPage<T>(all: readonly T[], page: PageWindow): Page<T> {
  const before = (page.number - 1) * page.size
  return { items: all.slice(before, before + page.size), total: all.length, page }
}

/** A collection without pages comes as one large page. */
export const toWindow = (
  { page }: Resource,
  { number = 1, size = page?.size ?? 10_000 }: Partial<PageWindow> = {},
): PageWindow => ({
  number,
  size,
})

function toQuery({ filters: declared }: Resource, { include, sort, filter: filterValues }: CollectionInput): Query {
  const filters = Object.entries(declared).flatMap(([name, { variantOf }]) => {
    const value = filterValues[name]
    return value === undefined ? [] : [{ name, variant: variantOf(value) }]
  })
  return { include, sort, filters, filterValues }
}

type RelatedInput = { id: string; relation: string } & Record<string, unknown>

async function readRelated(
  ctx: Context,
  parent: Resource,
  input: RelatedInput,
): Promise<Page<RecordRef> | RecordRef | null> {
  const { id, relation: name, ...rest } = input
  const relation = parent.relations[name] as Relation
  const of = ctx.services.records.resources.of(relation.to)
  const parsed = buildRelatedInput(relation, of).safeParse(rest)
  if (!parsed.success) throw new Problem('invalid_query', { issues: parsed.error.issues as never })
  const query = parsed.data as unknown as CollectionInput
  const reader = new RowReader(ctx)
  const { derive } = relation
  if (derive) return toPage(derive(await getRow(ctx, parent, id), ctx.services.vault), toWindow(of, query.page))
  if (relation.many) {
    if (!(await reader.canSee(parent, id))) throw createNotFoundProblem(parent, id)
    const window = toWindow(of, query.page)
    return { ...(await reader.relatedPage(parent, name, id, toQuery(of, query), window)), page: window }
  }
  const found = (await getRow(ctx, parent, id)) as RecordRef
  const link = found.relations?.[name] as RecordRef | null
  return link && ((await reader.byId(of, link.id, query.include)) ?? null)
}
