import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { ReportedTokens } from '../../../routers/ports/ai/usage-meter.ts'
import { errorIn } from '../failures/refusal.ts'
import { completionUsage, toSdkUsage } from '../usage/reported-usage.ts'
import type { Progress } from './event-frames.ts'
import { unifiedReason } from './finish-reason.ts'
import { type AssembledCall, type CallPiece, ToolCallAssembler, type WireCall } from './tool-call-assembler.ts'

type Members = Readonly<Record<string, unknown>>

/** What a model says in one frame, in its order. */
export type Saying = { type: 'text' | 'reasoning'; text: string }

export interface Citation {
  url: string
  title: string | undefined
}

interface CompletionPiece {
  /** Undefined where the frame says nothing of tokens. */
  usage: ReportedTokens | undefined
  error: object | undefined
  said: readonly Saying[]
  calls: readonly CallPiece[]
  /** The pages that it cites. */
  cited: readonly Citation[]
}

interface CompletionEnd {
  finishReason: LanguageModelV4FinishReason
  usage: LanguageModelV4Usage
  calls: readonly AssembledCall[]
  /** The text of the request that ended the answer, of servers that tell it. */
  stopSequence: string | undefined
}

/**
 * Reads a chat completion, whole or in pieces, as whichever server writes it: members that nobody uses may be of any type, and
 * those that are used of each type that servers give them. Goes when the AI SDK reads as leniently.
 */
export class CompletionReader {
  readonly #calls = new ToolCallAssembler()
  #finish: string | undefined
  #stopSequence: string | undefined
  #usage: ReportedTokens | undefined
  /** Whether tokens were told of when, or after, the answer ended. */
  #isCounted = false
  #isRefusal = false
  /** Whether it came as one document, which is whole even if it does not say why it ended. */
  #isDocument = false
  #isEmpty = true

  get progress(): Progress {
    if (this.#finish === undefined) return 'running'
    return this.#isCounted ? 'complete' : 'ended'
  }

  /** Reads a frame, or a document. */
  read(frame: unknown): CompletionPiece {
    const usage = completionUsage(frame)
    if (usage) this.#usage = usage
    const error = errorIn(frame)
    const choice = error ? undefined : choiceIn(frame)
    this.#finish ??= wordIn(choice?.['finish_reason'])
    this.#stopSequence ??= wordsIn(choice?.['stop_reason']) || undefined
    if (usage && this.#finish !== undefined) this.#isCounted = true
    const message = objectIn(choice?.['message'])
    const delta = objectIn(choice?.['delta']) ?? message
    if (message && delta === message) this.#isDocument = true
    if (!delta) return { usage, error, said: [], calls: [], cited: [] }
    const [said, calls] = [this.#saidIn(delta), this.#callsIn(delta)]
    this.#isEmpty &&= said.length + calls.length === 0
    return { usage, error, said, calls, cited: citationsIn(delta) }
  }

  /** Throws where the answer broke off. */
  end(): CompletionEnd {
    const raw = this.#finish ?? (this.#isDocument && !this.#isEmpty ? 'stop' : undefined)
    if (raw === undefined) throw new Error('the stream ended early')
    const unified = unifiedReason(raw)
    const isRefused = this.#isRefusal && unified === 'stop'
    return {
      finishReason: isRefused ? { unified: 'content-filter', raw: 'content_filter' } : { unified, raw },
      usage: toSdkUsage(this.#usage),
      calls: this.#named(unified === 'length'),
      stopSequence: this.#stopSequence,
    }
  }

  /** Nobody can run a call without a name: one without anything else says nothing, another is left from an answer that is cut. */
  #named(isCut: boolean): readonly AssembledCall[] {
    const named = this.#calls.calls.filter(({ name }) => name)
    const isLost = this.#calls.calls.some((call) => !call.name && call.arguments.trim() !== '')
    if (isLost && !isCut) throw new Error('a call has no name')
    return named
  }

  #saidIn(delta: Members): Saying[] {
    const thought = wordsIn(delta['reasoning_content']) || wordsIn(delta['reasoning']) || detailsIn(delta)
    const refusal = wordsIn(delta['refusal'])
    if (refusal) this.#isRefusal = true
    const said = contentIn(delta['content'])
    if (thought) said.unshift({ type: 'reasoning', text: thought })
    if (refusal) said.push({ type: 'text', text: refusal })
    return said
  }

  #callsIn({ tool_calls: calls, function_call: older }: Members): CallPiece[] {
    const pieces = (Array.isArray(calls) ? calls : []).filter((piece) => objectIn(piece)) as WireCall[]
    const all = objectIn(older) ? [...pieces, { function: older }] : pieces
    return all.length > 0 ? this.#calls.add(all, this.#isDocument) : []
  }
}

const objectIn = (value: unknown): Members | undefined =>
  typeof value === 'object' && value !== null ? (value as Members) : undefined

const wordsIn = (value: unknown): string => (typeof value === 'string' ? value : '')

const wordIn = (value: unknown): string | undefined => wordsIn(value).trim() || undefined

const choiceIn = (frame: unknown): Members | undefined => {
  const choices = objectIn(frame)?.['choices']
  return Array.isArray(choices) ? objectIn(choices[0]) : undefined
}

/** Text as servers write it, or parts of which some are thoughts. */
function contentIn(content: unknown): Saying[] {
  if (typeof content === 'string') return content ? [{ type: 'text', text: content }] : []
  return Array.isArray(content) ? content.map(sayingIn).filter(({ text }) => text !== '') : []
}

function sayingIn(part: unknown): Saying {
  const { type, text, thinking } = objectIn(part) ?? {}
  if (type === 'thinking') return { type: 'reasoning', text: textsIn(thinking) }
  return { type: 'text', text: type === 'text' ? wordsIn(text) : '' }
}

const textsIn = (thoughts: unknown): string =>
  Array.isArray(thoughts) ? thoughts.map((one) => wordsIn(objectIn(one)?.['text'])).join('') : wordsIn(thoughts)

function citationsIn({ annotations }: Members): Citation[] {
  if (!Array.isArray(annotations)) return []
  return annotations.flatMap((annotation) => {
    const { url, title } = objectIn(objectIn(annotation)?.['url_citation']) ?? {}
    return typeof url === 'string' && url ? [{ url, title: wordIn(title) }] : []
  })
}

/** OpenRouter repeats thoughts here, and some servers say them nowhere else. */
const detailsIn = ({ reasoning_details: details }: Members): string => (Array.isArray(details) ? textsIn(details) : '')
