import { z } from 'zod'
import { errorCodes, Problem } from '../core/problems.ts'
import { type AnswerPart, type FinishReason, finishReasons } from '../ports/ai/models.ts'

const cuts = ['limit', 'refusal', 'length'] as const
type Cut = (typeof cuts)[number]

/** A model's answer as plain text. */
export const textAnswer = z.object({
  text: z.string().describe('The text of the answer.'),
  cut: z
    .enum(cuts)
    .optional()
    .describe(
      'The reason why the answer is incomplete: it reached its maximum length, or its provider refused to continue.',
    ),
})

const tokens = z.int().min(0)

const usage = z.object({
  inputTokens: tokens,
  outputTokens: tokens,
  cachedTokens: tokens.describe('The number of input tokens that the provider read from its cache.'),
  cacheWriteTokens: tokens.describe('The number of input tokens that the provider wrote to its cache.'),
  reasoningTokens: tokens.describe('The number of output tokens that were thoughts.'),
})
export type Usage = z.output<typeof usage>

const signature = z.string().optional().describe('The data that the provider needs back with the results of tools.')

const character = z.int().min(0)
const textRanges = z
  .array(z.object({ start: character, end: character }))
  .readonly()
  .optional()
  .describe('The places in the whole text that cite it, in characters. Absent if the provider does not report them.')

const toolCallFields = {
  id: z.string().describe('The id to send back with the approval or the result.'),
  tool: z.string(),
  server: z.string().describe("The label of the tool's server. It is empty if the tool of an approved call is gone."),
  input: z.unknown(),
  signature,
}

const citedPassage = z.object({
  number: z.int().min(1).describe('The number by which the text cites it, in square brackets.'),
  file: z.int().min(1).describe('The id of the version of the file.'),
  path: z.string(),
  page: z.int().nullable().describe('The page or slide. Null if the file has none.'),
  headings: z.array(z.string()).readonly().describe('The headings above it, the highest first.'),
  from: character.describe('The offset of its beginning in the text of the file, in UTF-16 units.'),
  to: character.describe('The offset of its end, which is exclusive.'),
  text: z.string(),
})

const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('reasoning'), text: z.string(), signature }),
  z.object({
    type: z.literal('tool-call'),
    id: z.string(),
    name: z.string(),
    input: z.string().describe('The arguments as JSON, as the model wrote them.'),
    signature,
  }),
  z.object({
    type: z.literal('source'),
    url: z.string(),
    title: z.string().optional(),
    places: textRanges,
    passage: citedPassage.optional().describe('The passage, if the source is knowledge of the assistant.'),
  }),
  z.object({ type: z.literal('approval'), ...toolCallFields }),
  z.object({ type: z.literal('tool-run'), ...toolCallFields, output: z.string(), isError: z.boolean() }),
])

const tokenLogprob = z.object({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.number()).readonly().nullable(),
})

/** A model's complete answer, with its reasoning and the calls of functions that the caller runs. */
export const wholeAnswer = z.object({
  content: z.array(part),
  finish: z.enum(finishReasons),
  stopSequence: z
    .string()
    .optional()
    .describe('The stop sequence that ended the answer. Absent if the provider does not report it.'),
  logprobs: z
    .array(tokenLogprob.extend({ top_logprobs: z.array(tokenLogprob).readonly() }))
    .readonly()
    .optional()
    .describe(
      'The log probabilities of tokens. Absent if they were not requested, or if the server does not report them.',
    ),
  usage,
  failure: z
    .object({ code: z.enum(errorCodes), message: z.string() })
    .optional()
    .describe('The reason why the model did not answer after approved tool calls, whose results `content` has.'),
})
export type WholeAnswer = z.output<typeof wholeAnswer>

/** Reason for the cut, by finish reason. */
export const cutByFinish: Partial<Record<FinishReason, Cut>> = { length: 'length', 'content-filter': 'refusal' }

/** Returns the text of an answer. Throws if the provider refused without any text. */
export function toTextAnswer({ content, finish }: WholeAnswer): z.output<typeof textAnswer> {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  if (finish === 'content-filter' && text === '') throw new Problem('provider_refused')
  const cut = cutByFinish[finish]
  return { text, ...(cut && { cut }) }
}

export interface UsagePart extends Usage {
  type: 'usage'
  /** Cost in millionths of the currency; absent if the model has no price or is free. */
  cost?: { micros: number; currency: string }
  /**
   * Present if the answer was cut: a usage limit was exhausted, the provider refused to continue, or the maximum length
   * was reached.
   */
  cut?: Cut
  /** The model that answered in place of the one that was asked; absent if none did. */
  answeredBy?: string
  /** The assistant that answered, and its version, such as `helper@3`; absent if a model was asked. */
  assistant?: string
}

/** True if the provider ended the answer with a refusal. */
export const isRefusal = (part: StreamPart | undefined): boolean => part?.type === 'usage' && part.cut === 'refusal'

export type StreamPart = AnswerPart | UsagePart

/**
 * All part types but `tool-use` and `tool-result`, which only some protocols can express. `approval` occurs only if the
 * request allows questions.
 */
export const streamPartTypes = [
  'delta',
  'reasoning',
  'tool-call',
  'source',
  'approval',
  'tool-start',
  'tool-run',
  'finish',
  'usage',
] as const satisfies StreamPart['type'][]
