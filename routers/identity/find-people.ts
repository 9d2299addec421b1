import { z } from 'zod'
import { type FoundPerson, findPeople as statement } from '../../entities/identity/user.sql.ts'
import { AI_USER_ID } from '../../entities/identity/user.ts'
import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'

const MIN_CHARACTERS = 3

export const peopleQuery = z.strictObject({
  query: z
    .string()
    .max(254)
    .trim()
    .refine((text) => [...text].length >= MIN_CHARACTERS, `must have at least ${MIN_CHARACTERS} characters`)
    .describe('Part of a name or username, or a whole e-mail address.'),
})

/** Counts searches against a rate limit, because many searches would reveal everybody. */
export const consumePeopleSearch = (ctx: Context, caller: number): Promise<void> =>
  consumeRateLimit(ctx, [`people:${caller}`], ctx.services.settings.peopleSearchesPerMinute)

/** Finds a few people who match the query. */
export async function findPeople(ctx: Context, caller: number, query: string): Promise<FoundPerson[]> {
  await consumePeopleSearch(ctx, caller)
  return ctx.services.sql(statement, [query, caller, AI_USER_ID])
}
