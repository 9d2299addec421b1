/** Tokens that a provider counts for one request. */
export interface TokenCounts {
  input: number
  output: number
  cached: number
  cacheWrite: number
  reasoning: number
}

export type Schema = Readonly<Record<string, unknown>>

interface Tool {
  name: string
  schema: Schema
}

/** A model request, parsed from any dialect. */
export interface DialectRequest {
  /** The conversation, with the newest message last. */
  messages: readonly unknown[]
  /** The other inputs of the model, such as tools. */
  around: unknown
  /** The tools that the model may call. */
  tools: readonly Tool[]
  /** True if the model must call a tool. */
  mustCall: boolean
  /** True if the model may call at most one tool at a time. */
  isOneByOne: boolean
  /** The schema of a JSON answer; true for any JSON. */
  json: Schema | boolean
  stop: readonly string[]
  /** Infinity without a limit. */
  maxTokens: number
  seed: number | undefined
}

export interface Call {
  id: string
  name: string
  input: unknown
}

export type End = 'stop' | 'length' | 'calls' | 'refusal'

/** The answer of the model with its end and its token counts. */
export interface DialectAnswer {
  text: string
  calls: readonly Call[]
  end: End
  /** The stop sequence that ended the answer. */
  stop?: string | undefined
  tokens: TokenCounts
}

export type Body = Readonly<Record<string, unknown>>

/** Parses the requests of one API and writes its answers. */
export interface Dialect {
  read(body: Body): DialectRequest
  whole(answer: DialectAnswer): object
  /** The events up to the last word, and the rest. */
  events(answer: DialectAnswer, body: Body): readonly [begun: string, ended: string]
}

/** Builds an answer that is a text. */
export const buildTextAnswer = (text: string, tokens: TokenCounts, end: End = 'stop'): DialectAnswer => ({
  text,
  calls: [],
  end,
  tokens,
})

/** Splits a text into tokens: a word with the space around it is one. */
export const splitTokens = (text: string): string[] => text.match(/\s*\S+\s*/g) ?? []

export const formatData = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
export const formatEvent = (type: string, event: object = {}) => `event: ${type}\n${formatData({ type, ...event })}`

/** Selects the tools that a tool choice allows. */
export function selectTools<Named extends Tool>(
  tools: readonly Named[],
  choice: 'auto' | 'none' | 'any' | { name: string },
) {
  const isNamed = typeof choice === 'object'
  return {
    tools: choice === 'none' ? [] : tools.filter(({ name }) => !isNamed || name === choice.name),
    mustCall: isNamed || choice === 'any',
  }
}
