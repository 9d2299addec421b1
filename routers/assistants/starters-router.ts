import { z } from 'zod'
import { Problem } from '../core/problems.ts'
import { router, userWith } from '../core/trpc.ts'
import { exposeAs } from '../resource/exposure.ts'
import type { RecordOf } from '../resource/record.ts'
import { assertLinksVisible, createNotFoundProblem } from '../verbs/lock-row.ts'
import { buildRelatedInput, getRow, getRows, reader } from '../verbs/read.ts'
import { buildCreateInput, ifVersion } from '../verbs/write-inputs.ts'
import { changeAnswering, type PersonContext } from './assistant-changes.ts'
import { assistants, assistantUserPrompts, listPrompts } from './assistant-types.ts'
import { lockById, saveContent } from './change-by-id.ts'
import { MAX_STARTERS } from './content.ts'
import { buildIds, readAssistantId } from './starters.ts'

type PromptRecord = RecordOf<typeof assistantUserPrompts>

/** Starters as a type of JSON:API: each is a part of the content of its assistant. */
export const startersRouter = router({
  get: reader
    .meta(exposeAs(assistantUserPrompts, 'get'))
    .input(z.strictObject({ id: assistantUserPrompts.ids.schema }))
    .query(({ ctx, input }): Promise<PromptRecord> => findPrompt(ctx, input.id)),

  related: reader
    .meta(exposeAs(assistantUserPrompts, 'related'))
    .input(
      buildRelatedInput(assistantUserPrompts.relations.assistant, assistants).extend({
        id: assistantUserPrompts.ids.schema,
        relation: z.literal('assistant'),
      }),
    )
    .query(async ({ ctx, input }): Promise<RecordOf<typeof assistants>> => {
      await findPrompt(ctx, input.id)
      return getRow(ctx, assistants, String(readAssistantId(input.id)), input['include'] as string[])
    }),

  create: userWith('write')
    .meta(exposeAs(assistantUserPrompts, 'create'))
    .input(buildCreateInput(assistantUserPrompts))
    .mutation(async ({ ctx, input }): Promise<PromptRecord> => {
      const { text, assistant: id } = input as { text: string; assistant: string }
      await changeAnswering(ctx, async (em) => {
        await assertLinksVisible(ctx, em, assistantUserPrompts, input)
        const assistant = await lockById(ctx, em, { id })
        await saveContent(ctx, em, assistant, (content) => ({
          ...content,
          starters: addStarter(content.starters, text),
        }))
      })
      return findPrompt(ctx, buildIds(ctx.services.vault, id, text)[0] as string)
    }),

  delete: userWith('write')
    .meta(exposeAs(assistantUserPrompts, 'delete'))
    .input(z.strictObject({ id: assistantUserPrompts.ids.schema, ifVersion }))
    .mutation(async ({ ctx, input: { id, ifVersion } }): Promise<{ id: string }> => {
      const of = String(readAssistantId(id))
      const isOther = (text: string) => !buildIds(ctx.services.vault, of, text).includes(id)
      await changeAnswering(ctx, async (em) => {
        const assistant = await lockById(ctx, em, { id: of, ifVersion })
        await saveContent(ctx, em, assistant, (content) => {
          if (content.starters.every(isOther)) throw createNotFoundProblem(assistantUserPrompts, id)
          return { ...content, starters: content.starters.filter(isOther) }
        })
      })
      return { id }
    }),
})

async function findPrompt(ctx: PersonContext, id: string): Promise<PromptRecord> {
  const { vault } = ctx.services
  const of = String(readAssistantId(id))
  const [assistant] = await getRows(ctx, assistants, [of])
  const prompts = assistant ? listPrompts(assistant, vault) : []
  const found = prompts.find(({ text }) => buildIds(vault, of, text).includes(id))
  if (!found) throw createNotFoundProblem(assistantUserPrompts, id)
  return { ...found, id }
}

function addStarter(starters: readonly string[], text: string): string[] {
  if (starters.includes(text)) throw new Problem('conflict', { detail: 'The assistant begins with this already.' })
  if (starters.length < MAX_STARTERS) return [...starters, text]
  const message = `is one too many: an assistant has at most ${MAX_STARTERS}`
  throw new Problem('invalid', { issues: [{ path: ['text'], message }] })
}
