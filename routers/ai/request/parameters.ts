import { z } from 'zod'
import { type CallParameters, efforts } from '../../ports/ai/models.ts'

/** More than any model answers with. */
const MAX_TOKENS = 10_000_000
const MAX_STOPS = 16
const MAX_STOP = 500
/** In characters of JSON: templates know a few words. */
const MAX_TEMPLATE_OPTIONS = 4000

const tokens = z.int().positive().max(MAX_TOKENS)

const penalty = z.number().min(-2).max(2)

/** What a caller may set for one call. */
export const parameters: z.ZodType<CallParameters, CallParameters> = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  maxTokens: tokens.optional(),
  maxThinkingTokens: tokens.optional(),
  effort: z.enum(efforts).optional(),
  thinking: z.literal('adaptive').optional(),
  thoughts: z.enum(['auto', 'concise', 'detailed']).optional(),
  topK: z.int().positive().max(100_000).optional(),
  presencePenalty: penalty.optional(),
  frequencyPenalty: penalty.optional(),
  verbosity: z.enum(['low', 'medium', 'high']).optional(),
  templateOptions: z
    .record(z.string(), z.unknown())
    .refine((options) => JSON.stringify(options).length <= MAX_TEMPLATE_OPTIONS, {
      error: `must have at most ${MAX_TEMPLATE_OPTIONS} characters`,
    })
    .optional()
    .describe('What a server of open models fills into the template of the model.'),
  maxTokensName: z
    .literal('max_completion_tokens')
    .optional()
    .describe('How a provider that knows the name is told `maxTokens`.'),
  isEffortOptional: z.boolean().optional().describe('Whether a model that takes no effort is asked without one.'),
  seed: z.int32().optional(),
  stop: z.array(z.string().min(1).max(MAX_STOP)).min(1).max(MAX_STOPS).optional(),
  parallelTools: z.boolean().optional(),
})
