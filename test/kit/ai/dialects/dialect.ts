/** What a provider counts of one request. */
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

/** What a request asks of the model, in whichever dialect. */
export interface DialectRequest {
  /** All that it reads: the conversation, of which the last is the newest. */
  messages: readonly unknown[]
  /** What else it reads. */
  around: unknown
  /** The tools that it may call. */
  tools: readonly Tool[]
  /** Whether it must call one of them. */
  mustCall: boolean
  /** Whether it may call one of them only. */
  isOneByOne: boolean
  /** Whether it is to answer with JSON, and of which schema. */
  json: Schema | boolean
  stop: readonly string[]
  /** Infinite where nothing is said of it. */
  maxTokens: number
  seed: number | undefined
}

export interface Call {
  id: string
  name: string
  input: unknown
}

export type End = 'stop' | 'length' | 'calls' | 'refusal'

/** What the model says, why it ends, and what it counts. */
export interface DialectAnswer {
  text: string
  calls: readonly Call[]
  end: End
  /** The text at which it was told to stop, and did. */
  stop?: string | undefined
  counted: TokenCounts
}

export type Body = Readonly<Record<string, unknown>>

/** How requests of one kind are read, and their answers are written. */
export interface Dialect {
  read(body: Body): DialectRequest
  whole(said: DialectAnswer): object
  /** The events up to the last word, and the rest. */
  events(said: DialectAnswer, body: Body): readonly [begun: string, ended: string]
}

/** An answer that is a text. */
export const buildTextAnswer = (text: string, counted: TokenCounts, end: End = 'stop'): DialectAnswer => ({
  text,
  calls: [],
  end,
  counted,
})

/** A word with what is between it and the next is a token. */
export const splitTokens = (text: string): string[] => text.match(/\s*\S+\s*/g) ?? []

export const formatData = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
export const formatEvent = (type: string, event: object = {}) => `event: ${type}\n${formatData({ type, ...event })}`

/** What is asked of the choice of a tool. */
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
