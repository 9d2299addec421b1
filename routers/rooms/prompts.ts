import { z } from 'zod'
import { lockPerson } from '../../entities/identity/user.sql.ts'
import {
  countOwnPrompts,
  deleteOwnPrompt,
  deleteSharedPrompt,
  insertOwnPrompts,
  insertSharedPrompt,
  listOfferedPrompts,
  listOwnPrompts,
  listSharedPrompts,
  MAX_SHARED,
  type SharedPromptRow,
  updateOwnPrompt,
  updateSharedPrompt,
} from '../../entities/rooms/prompt.sql.ts'
import { groupList } from '../catalogue/schemas.ts'
import { runInTransaction } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { createQuotaProblem, Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, adminSession, router, userWith, withBodySize } from '../core/trpc.ts'
import { rowId } from '../identity/user-selector.ts'
import { availableLocales } from '../ports/locales.ts'
import { sealedText } from './message-content.ts'

/** The most prompts of a person, which is also the most that are imported at once. */
const MAX_OWN = 200
/** The most characters of a ciphertext, for a prompt of 10,000 characters. */
const MAX_SEALED = 64 * 1024
const MAX_TEXT = 10_000

const sealed = sealedText
  .max(MAX_SEALED)
  .describe('The ciphertext of the name and the text, `iv|tag|ciphertext`. Its content is up to front ends.')

const readerLocale = z
  .enum(availableLocales)
  .nullable()
  .describe('The language of the people who find it; none for all.')

const sharedPrompt = z.strictObject({
  name: z.string().trim().min(1, 'must not be empty').max(120).describe('The name by which people find it.'),
  text: z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(MAX_TEXT)
    .describe(
      'The text, which is not encrypted. `{{topic}}` asks for a value, `{{tone: formal, friendly}}` offers a choice, and `{{date}}` becomes the date.',
    ),
  groups: groupList.default([]).describe('The groups whose members find it; none for everybody.'),
  locale: readerLocale.default(null),
})

const selector = z.strictObject({ id: rowId })

const sharedChange = z.strictObject({
  id: rowId,
  name: sharedPrompt.shape.name.optional(),
  text: sharedPrompt.shape.text.optional(),
  groups: sharedPrompt.shape.groups.unwrap().optional(),
  locale: readerLocale.optional(),
})

const createUnknownPrompt = () => new Problem('not_found', { detail: 'There is no such prompt.' })

/** Names a prompt of administrators in the audit log. */
const recordSubject = (ctx: Context, id: string) => ctx.auditedCall?.setSubject(`prompts:${id}`)

/** Prompts that people insert into their questions: their own, which their browsers encrypt, and those of administrators. */
export const promptsRouter = router({
  list: userWith('read')
    .meta(about("List the caller's own prompts, and those of administrators for the caller's groups and language."))
    .query(async ({ ctx }) => {
      const { id, groups } = ctx.caller.person
      const [own, offered] = await Promise.all([
        ctx.services.sql(listOwnPrompts, [id]),
        ctx.services.sql(listOfferedPrompts, [groups, ctx.locale]),
      ])
      return {
        own,
        offered: offered.map(({ id, name, text, groups }) => ({ id, name, text, isForAll: groups.length === 0 })),
      }
    }),

  create: userWith('write')
    .meta({ ...about('Add own prompts, all or none.'), ...withBodySize('long text') })
    .input(z.strictObject({ prompts: z.array(sealed).min(1).max(MAX_OWN) }))
    .mutation(async ({ ctx, input: { prompts } }) => {
      const person = ctx.caller.person.id
      return runInTransaction(ctx, undefined, async (em) => {
        await runStatement(em, lockPerson, [person])
        const [usage] = await runStatement(em, countOwnPrompts, [person])
        if ((usage?.count ?? 0) + prompts.length > MAX_OWN)
          throw createQuotaProblem(`A person has at most ${MAX_OWN} prompts.`)
        return runStatement(em, insertOwnPrompts, [person, prompts])
      })
    }),

  update: userWith('write')
    .meta({ ...about('Change an own prompt.'), ...withBodySize('long text') })
    .input(z.strictObject({ id: rowId, sealed }))
    .mutation(async ({ ctx, input }) => {
      const [updated] = await ctx.services.sql(updateOwnPrompt, [ctx.caller.person.id, input.id, input.sealed])
      if (!updated) throw createUnknownPrompt()
      return updated
    }),

  delete: userWith('write')
    .meta(about('Delete an own prompt.'))
    .input(selector)
    .mutation(async ({ ctx, input: { id } }) => {
      const [deleted] = await ctx.services.sql(deleteOwnPrompt, [ctx.caller.person.id, id])
      if (!deleted) throw createUnknownPrompt()
      return deleted
    }),

  shared: adminSession
    .meta(about('List all prompts of administrators.'))
    .query(({ ctx }): Promise<SharedPromptRow[]> => ctx.services.sql(listSharedPrompts)),

  share: adminSession
    .meta({ ...about('Add a prompt for groups or for everybody.'), ...withBodySize('long text') })
    .input(sharedPrompt)
    .mutation(async ({ ctx, input: { name, text, groups, locale } }): Promise<SharedPromptRow> => {
      const [added] = await ctx.services.sql(insertSharedPrompt, [name, text, groups, locale])
      if (!added) throw createQuotaProblem(`There are at most ${MAX_SHARED} prompts of administrators.`)
      recordSubject(ctx, added.id)
      return added
    }),

  changeShared: adminSession
    .meta({ ...about('Change a prompt of administrators.'), ...withBodySize('long text') })
    .input(sharedChange)
    .mutation(async ({ ctx, input: { id, name, text, groups, locale } }): Promise<SharedPromptRow> => {
      const values = [id, name ?? null, text ?? null, groups ?? null, locale !== undefined, locale ?? null]
      const [changed] = await ctx.services.sql(updateSharedPrompt, values)
      if (!changed) throw createUnknownPrompt()
      recordSubject(ctx, changed.id)
      return changed
    }),

  deleteShared: adminSession
    .meta(about('Delete a prompt of administrators.'))
    .input(selector)
    .mutation(async ({ ctx, input: { id } }) => {
      const [deleted] = await ctx.services.sql(deleteSharedPrompt, [id])
      if (!deleted) throw createUnknownPrompt()
      recordSubject(ctx, deleted.id)?.recordChange({ before: { name: deleted.name } })
      return deleted
    }),
})
