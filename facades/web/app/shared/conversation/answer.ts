import type { AiRequest, StreamPart } from '../api/types.ts'

type SourcePart = Extract<StreamPart, { type: 'source' }>

/** A passage of a file. Its text stays with the service, which shows it to those who may read it then. */
export type CitedPassage = Omit<NonNullable<SourcePart['passage']>, 'text'>

export interface Source extends Omit<SourcePart, 'type' | 'passage'> {
  passage?: CitedPassage | undefined
}
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

/** What a summary stands for, which is stored as an answer of its own in its branch. */
export interface SummaryReach {
  /** The number of the first message that is sent as it is. Earlier ones of the branch are replaced by the summary. */
  firstSent: number
  /** How many messages it replaces, with those of the summary before it. */
  replaced: number
  /** True if the person has undone it, so that all messages are sent again. */
  isUndone?: boolean
}

/** The place of an answer beside that of another model to the same question. */
export interface Comparison {
  /** Both answers have it. */
  id: string
  side: Side
  /** The ids of the models, by their sides. */
  models: readonly [string, string]
  /** True if the names of the models are hidden until the person has chosen. */
  isBlind: boolean
  /** True for the answer with which the chat goes on. */
  isChosen?: boolean
}

export type Side = 0 | 1

export const otherSide = (side: Side): Side => (side === 0 ? 1 : 0)

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
  /** The assistant that answered, with its version, such as `helper@3`. */
  assistant?: string | undefined
  usage?:
    | {
        inputTokens: number
        outputTokens: number
        cachedTokens: number
        /** Absent in answers of earlier versions. */
        cacheWriteTokens?: number
        reasoningTokens: number
        /** Tokens of the last request and its answer, which an answer that was continued does not add up. */
        contextTokens?: number
        cost?: { micros: number; currency: string }
      }
    | undefined
  /** Present in a summary. */
  summary?: SummaryReach
  /** Present in an answer that was requested together with that of another model. */
  comparison?: Comparison
}

export const emptyAnswer: Answer = { text: '', citations: [], thoughts: [], tools: [] }

/** Reads a stored answer. Some other front ends store it as plain text. */
export function parseAnswer(plain: string): Answer {
  try {
    const { text, citations, thoughts, tools, summary, comparison, ...rest } = JSON.parse(plain) as Partial<Answer>
    if (typeof text !== 'string') return { ...emptyAnswer, text: plain }
    const reach = parseReach(summary)
    const compared = parseComparison(comparison)
    return {
      ...rest,
      text,
      citations: toArray(citations),
      thoughts: toArray(thoughts),
      tools: toArray(tools),
      ...(reach && { summary: reach }),
      ...(compared && { comparison: compared }),
    }
  } catch {
    return { ...emptyAnswer, text: plain }
  }
}

const toArray = <T>(value: T[] | undefined): T[] => (Array.isArray(value) ? value : [])

/** Reads what a summary replaces; undefined for anything else. */
export function parseReach(value: unknown): SummaryReach | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { firstSent, replaced, isUndone } = value as Partial<SummaryReach>
  if (!Number.isSafeInteger(firstSent) || !Number.isSafeInteger(replaced)) return undefined
  return { firstSent: Number(firstSent), replaced: Number(replaced), ...(isUndone === true && { isUndone }) }
}

/** Reads the place of an answer in a comparison; undefined for anything else. */
function parseComparison(value: unknown): Comparison | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { id, side, models, isBlind, isChosen } = value as Partial<Comparison>
  const [first, second] = Array.isArray(models) ? (models as unknown[]) : []
  if (typeof id !== 'string' || (side !== 0 && side !== 1)) return undefined
  if (typeof first !== 'string' || typeof second !== 'string') return undefined
  return { id, side, models: [first, second], isBlind: isBlind === true, ...(isChosen === true && { isChosen }) }
}
