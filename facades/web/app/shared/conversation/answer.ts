import type { AiRequest, StreamPart } from '../api/client.ts'

export type Source = Omit<Extract<StreamPart, { type: 'source' }>, 'type'>
export type CutReason = NonNullable<Extract<StreamPart, { type: 'usage' }>['cut']>
type AssistantParts = Extract<AiRequest['messages'][number], { role: 'assistant' }>['content']
export type Thought = Omit<Extract<AssistantParts[number], { type: 'reasoning' }>, 'type'>

/** A tool call within an answer. */
export interface ToolStep {
  id: string
  name: string
  /** The label of the MCP server; empty for tools of the provider and of the service itself. */
  server: string
  /** The arguments; undefined if the stream does not report them. */
  input?: unknown
  /** The id of the approval request, if there was one. */
  question?: string | undefined
  state: 'running' | 'waiting' | 'done' | 'failed' | 'refused'
  output?: string
  signature?: string | undefined
  /** The length of the text before the call; absent in answers of earlier versions. */
  at?: number
}

/** An answer as it is stored. Earlier front ends read only `text` and `citations`. */
export interface Answer {
  text: string
  citations: Source[]
  thoughts: Thought[]
  thinkingSeconds?: number | undefined
  tools: ToolStep[]
  /** The reason why the answer is incomplete. */
  cut?: CutReason | 'stopped' | 'interrupted' | undefined
  /** The model that answered in place of the one that was asked. */
  answeredBy?: string | undefined
  usage?:
    | {
        inputTokens: number
        outputTokens: number
        cachedTokens: number
        /** Absent in answers of earlier versions. */
        cacheWriteTokens?: number
        reasoningTokens: number
        cost?: { micros: number; currency: string }
      }
    | undefined
}

export const emptyAnswer: Answer = { text: '', citations: [], thoughts: [], tools: [] }

/** Reads a stored answer. Some other front ends store it as plain text. */
export function parseAnswer(plain: string): Answer {
  try {
    const { text, citations, thoughts, tools, ...rest } = JSON.parse(plain) as Partial<Answer>
    if (typeof text !== 'string') return { ...emptyAnswer, text: plain }
    return { ...rest, text, citations: toArray(citations), thoughts: toArray(thoughts), tools: toArray(tools) }
  } catch {
    return { ...emptyAnswer, text: plain }
  }
}

const toArray = <T>(value: T[] | undefined): T[] => (Array.isArray(value) ? value : [])
