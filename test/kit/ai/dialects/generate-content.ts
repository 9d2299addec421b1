import {
  type Dialect,
  type DialectAnswer,
  type End,
  formatData,
  type Schema,
  selectTools,
  splitTokens,
  type TokenCounts,
} from './dialect.ts'

interface ContentRequest {
  contents?: unknown[]
  systemInstruction?: unknown
  tools?: { functionDeclarations?: { name: string; parametersJsonSchema?: Schema }[] }[]
  toolConfig?: { functionCallingConfig?: { mode: keyof typeof choices; allowedFunctionNames?: string[] } }
  generationConfig?: {
    stopSequences?: string[]
    maxOutputTokens?: number
    seed?: number
    responseMimeType?: string
    responseJsonSchema?: Schema
  }
}

const choices = { AUTO: 'auto', VALIDATED: 'auto', NONE: 'none', ANY: 'any' } as const

const toContentUsage = ({ input, output, cached, reasoning }: TokenCounts) => ({
  promptTokenCount: input,
  candidatesTokenCount: output - reasoning,
  thoughtsTokenCount: reasoning,
  cachedContentTokenCount: cached,
  totalTokenCount: input + output,
})

/** Gemini has no end reason for tool calls, nor for a stop sequence. */
const ends: Record<End, string> = { stop: 'STOP', length: 'MAX_TOKENS', calls: 'STOP', refusal: 'SAFETY' }
export const toContentEnd = (end: End) => ends[end]

export const buildCandidate = (parts: readonly object[], tokens: TokenCounts, more: object = {}) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
  usageMetadata: toContentUsage(tokens),
})

const toFunctionCalls = ({ calls }: DialectAnswer) =>
  calls.map(({ name, input }) => ({ functionCall: { name, args: input } }))

export const generateContent: Dialect = {
  read(body) {
    const { contents = [], systemInstruction, tools = [], toolConfig, generationConfig = {} } = body as ContentRequest
    const declarations = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations)
    const { mode = 'AUTO', allowedFunctionNames: allowed } = toolConfig?.functionCallingConfig ?? {}
    const allTools = declarations
      .filter(({ name }) => allowed?.includes(name) ?? true)
      .map(({ name, parametersJsonSchema: schema = {} }) => ({ name, schema }))
    const { stopSequences = [], maxOutputTokens = Infinity, responseMimeType, responseJsonSchema } = generationConfig
    return {
      messages: contents,
      around: { systemInstruction, tools, responseJsonSchema },
      ...selectTools(allTools, choices[mode]),
      isOneByOne: false,
      json: responseMimeType === 'application/json' && (responseJsonSchema ?? true),
      stop: stopSequences,
      maxTokens: maxOutputTokens,
      seed: generationConfig.seed,
    }
  },
  whole(answer) {
    const { text, end, tokens } = answer
    // A refused question has no candidate.
    if (end === 'refusal' && !text)
      return { promptFeedback: { blockReason: ends[end] }, usageMetadata: toContentUsage(tokens) }
    return buildCandidate([...(text ? [{ text }] : []), ...toFunctionCalls(answer)], tokens, {
      finishReason: ends[end],
    })
  },
  events(answer) {
    const parts = [...splitTokens(answer.text).map((text) => ({ text })), ...toFunctionCalls(answer)]
    const startEvents = parts.map((part) => ({ candidates: [{ index: 0, content: { role: 'model', parts: [part] } }] }))
    return [
      formatData(...startEvents),
      formatData(buildCandidate([{ text: '' }], answer.tokens, { finishReason: ends[answer.end] })),
    ]
  },
}
