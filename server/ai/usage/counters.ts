import { z } from 'zod'
import type { Adapter } from '../../../routers/ports/ai/adapters.ts'

type Body = Readonly<Record<string, unknown>>

/** How a provider is asked how many tokens a request for an answer takes as input. */
export interface Counter {
  /** The request for a count, by that for an answer; undefined where there is none at its address. */
  request(url: string, body: Body): { url: string; body: Body } | undefined
  answer: z.ZodType<number>
}

const tokens = z.int().min(0).max(100_000_000)

const inputTokens = z.object({ input_tokens: tokens }).transform((answer) => answer.input_tokens)

/** What is said of the answer alone, a request for a count must not have. */
const only = (body: Body, names: readonly string[]): Body =>
  Object.fromEntries(names.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])))

const anthropicMembers = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config']
const openAiMembers = [
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'text',
]

export const counters: Partial<Record<Adapter, Counter>> = {
  anthropic: {
    request: (url, body) => ({ url: `${url}/count_tokens`, body: only(body, anthropicMembers) }),
    answer: inputTokens,
  },
  openai: {
    request: (url, body) =>
      url.endsWith('/responses') ? { url: `${url}/input_tokens`, body: only(body, openAiMembers) } : undefined,
    answer: inputTokens,
  },
  google: {
    request(url, body) {
      const [, model = ''] = /\/(models\/[^/]+):generateContent$/.exec(url) ?? []
      const counting = url.replace(/:generateContent$/, ':countTokens')
      return { url: counting, body: { generateContentRequest: { model, ...body } } }
    },
    answer: z.object({ totalTokens: tokens }).transform(({ totalTokens }) => totalTokens),
  },
}
