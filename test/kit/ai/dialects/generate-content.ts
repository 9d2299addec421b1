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

/** It has no word of its own for calls of tools, and tells neither from where it was to stop. */
const ends: Record<End, string> = { stop: 'STOP', length: 'MAX_TOKENS', calls: 'STOP', refusal: 'SAFETY' }
export const toContentEnd = (end: End) => ends[end]

export const buildCandidate = (parts: readonly object[], counted: TokenCounts, more: object = {}) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
  usageMetadata: toContentUsage(counted),
})

const toFunctionCalls = ({ calls }: DialectAnswer) =>
  calls.map(({ name, input }) => ({ functionCall: { name, args: input } }))

export const generateContent: Dialect = {
  read(body) {
    const { contents = [], systemInstruction, tools = [], toolConfig, generationConfig = {} } = body as ContentRequest
    const declared = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations)
    const { mode = 'AUTO', allowedFunctionNames: allowed } = toolConfig?.functionCallingConfig ?? {}
    const known = declared
      .filter(({ name }) => allowed?.includes(name) ?? true)
      .map(({ name, parametersJsonSchema: schema = {} }) => ({ name, schema }))
    const { stopSequences = [], maxOutputTokens = Infinity, responseMimeType, responseJsonSchema } = generationConfig
    return {
      ...{ messages: contents, around: { systemInstruction, tools, responseJsonSchema } },
      ...{ ...selectTools(known, choices[mode]), isOneByOne: false },
      json: responseMimeType === 'application/json' && (responseJsonSchema ?? true),
      ...{ stop: stopSequences, maxTokens: maxOutputTokens, seed: generationConfig.seed },
    }
  },
  whole(said) {
    const { text, end, counted } = said
    // A question that it refuses has no answer.
    if (end === 'refusal' && !text)
      return { promptFeedback: { blockReason: ends[end] }, usageMetadata: toContentUsage(counted) }
    return buildCandidate([...(text ? [{ text }] : []), ...toFunctionCalls(said)], counted, { finishReason: ends[end] })
  },
  events(said) {
    const parts = [...splitTokens(said.text).map((text) => ({ text })), ...toFunctionCalls(said)]
    const begun = parts.map((part) => ({ candidates: [{ index: 0, content: { role: 'model', parts: [part] } }] }))
    return [
      formatData(...begun),
      formatData(buildCandidate([{ text: '' }], said.counted, { finishReason: ends[said.end] })),
    ]
  },
}
