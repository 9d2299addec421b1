import type { AiRequest, StreamPart } from '../api/client.ts'

export type Source = Omit<Extract<StreamPart, { type: 'source' }>, 'type'>
export type CutReason = NonNullable<Extract<StreamPart, { type: 'usage' }>['cut']>
type AssistantParts = Extract<AiRequest['messages'][number], { role: 'assistant' }>['content']
export type Thought = Omit<Extract<AssistantParts[number], { type: 'reasoning' }>, 'type'>

/** A tool that was called for an answer. */
export interface ToolStep {
  id: string
  name: string
  /** The label of its server; empty where the provider or the service itself runs it. */
  server: string
  /** The arguments; undefined where nobody is told them. */
  input?: unknown
  /** Of the question whether it may be called, where one was asked. */
  question?: string | undefined
  state: 'running' | 'waiting' | 'done' | 'failed' | 'refused'
  output?: string
  signature?: string | undefined
}

/** What an answer consists of beside its text. Earlier front ends read `text` and `citations`. */
export interface Answer {
  text: string
  citations: Source[]
  thoughts: Thought[]
  /** How long the model thought, in seconds. */
  thinkingSeconds?: number | undefined
  tools: ToolStep[]
  /** Why it is not whole. */
  cut?: CutReason | 'stopped' | 'interrupted' | undefined
  usage?:
    | {
        inputTokens: number
        outputTokens: number
        cachedTokens: number
        reasoningTokens: number
        cost?: { micros: number; currency: string }
      }
    | undefined
}

export const emptyAnswer: Answer = { text: '', citations: [], thoughts: [], tools: [] }
