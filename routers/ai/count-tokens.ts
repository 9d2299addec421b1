import { z } from 'zod'
import { findCallableModel } from '../../entities/catalogue/ai-model.sql.ts'
import { takes } from '../core/body-size.ts'
import { Problem } from '../core/problems.ts'
import { about, userWith } from '../core/trpc.ts'
import { Approvals } from './approvals/approvals.ts'
import { consumeAiQuota } from './asking.ts'
import { problemsOf } from './request/checks.ts'
import { inputTokensOf, tokensOfTools } from './request/input-tokens.ts'
import { type AiRequest, request } from './request/request.ts'
import { ownTools } from './tools.ts'

/** Tokenizers differ, and whoever goes by a count must not run short. */
const MARGIN = 1.5

const tokenCount = z.object({
  inputTokens: z.int().min(0),
  estimated: z.literal(true).describe('Rather too many than too few: no provider is asked.'),
})

export const countTokens = userWith('ai')
  .meta(takes('AI request with files'))
  .input(request)
  .meta(about('Estimate how many tokens a request takes as input. Nothing of it is billed.', tokenCount))
  .mutation(async ({ ctx, input }): Promise<z.output<typeof tokenCount>> => {
    const [model] = await ctx.services.sql(findCallableModel, [input.model, ctx.usage, 'chat'])
    const issues = [...problemsOf(input, model, 0), ...attachmentsIn(input)]
    if (!model || issues.length > 0) throw new Problem('invalid', { issues })
    await consumeAiQuota(ctx, 'ai-count')
    const approvals = new Approvals(ctx, { person: ctx.caller.person.id, conversation: undefined, asks: undefined })
    const tools = ownTools(ctx, { model, asked: input, approvals })
    return { inputTokens: Math.ceil(MARGIN * (inputTokensOf(input) + tokensOfTools(tools))), estimated: true }
  })

/** What is in them is known only when they are read. */
const attachmentsIn = ({ messages }: AiRequest) =>
  messages.flatMap(({ content }, at) =>
    content.flatMap((part, index) =>
      part.type === 'attachment'
        ? [{ path: ['messages', at, 'content', index], message: 'is an attachment, which cannot be counted' }]
        : [],
    ),
  )
