import { z } from 'zod'
import type { Context } from '../core/context.ts'
import type { anyone } from '../core/trpc.ts'
import type { Resource } from '../resource/declare.ts'
import { exposeAs } from '../resource/exposure.ts'
import type { RecordOf } from '../resource/record.ts'
import { createNotFoundProblem } from './lock-row.ts'
import { noMembers, type Page, reader } from './read.ts'

/** Defines `list` and `get` of a type without a table: `all` computes the records that the caller may see. */
export function defineComputedReads<R extends Resource>(
  of: R,
  all: (ctx: Context) => RecordOf<R>[] | Promise<RecordOf<R>[]>,
  // A procedure with a richer context is assignable here, but its type does not show it.
  base = reader as unknown as typeof anyone,
) {
  return {
    list: base
      .meta(exposeAs(of, 'list'))
      .input(z.strictObject({ filter: noMembers, page: noMembers }).prefault({}))
      .query(async ({ ctx }): Promise<Page<RecordOf<R>>> => {
        const items = await all(ctx)
        return { items, total: items.length, page: { number: 1, size: Math.max(1, items.length) } }
      }),

    get: base
      .meta(exposeAs(of, 'get'))
      .input(z.strictObject({ id: z.string().max(200) }))
      .query(async ({ ctx, input }): Promise<RecordOf<R>> => {
        const found = (await all(ctx)).find((record) => (record as { id: string }).id === input.id)
        if (!found) throw createNotFoundProblem(of, input.id)
        return found
      }),
  }
}
