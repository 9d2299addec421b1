import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { AnswerLogprob } from '../../routers/ports/ai/models.ts'
import type { ReportedTokens } from '../../routers/ports/ai/usage-meter.ts'
import { tryParseJson } from '../../routers/ports/json.ts'
import type { StreamProgress } from './event-stream.ts'
import { unifyReason } from './finish-reason.ts'
import { LogprobReader } from './logprobs.ts'
import { findErrorMember, TruncatedAnswer } from './provider-errors.ts'
import { readCompletionUsage, toSdkUsage } from './reported-usage.ts'

type Members = Readonly<Record<string, unknown>>

/** A piece of text or reasoning, in the order of the event. */
export type TextPiece = { type: 'text' | 'reasoning'; text: string }

interface Citation {
  url: string
  title: string | undefined
}

interface CompletionPiece {
  /** Undefined if the event reports no tokens. */
  usage: ReportedTokens | undefined
  error: object | undefined
  texts: readonly TextPiece[]
  calls: readonly ToolCallDelta[]
  /** Pages that the model cites. */
  citations: readonly Citation[]
}

interface CompletionFinish {
  finishReason: LanguageModelV4FinishReason
  usage: LanguageModelV4Usage
  calls: readonly AssembledCall[]
  /** The stop sequence that ended the answer, if the server reports it. */
  stopSequence: string | undefined
  logprobs: readonly AnswerLogprob[]
}

/**
 * Reads a chat completion, streamed or not, from any server: unused members may have any type, and used members any
 * type that servers give them. Remove it when the AI SDK is as lenient.
 */
export class CompletionReader {
  readonly #calls = new ToolCallAssembler()
  readonly #logprobs = new LogprobReader()
  #finish: string | undefined
  #stopSequence: string | undefined
  #usage: ReportedTokens | undefined
  /** True if tokens were reported in or after the event that ended the answer. */
  #isCounted = false
  #isRefusal = false
  /** True if the response is one document, which is complete even without a finish reason. */
  #isDocument = false
  #isEmpty = true

  get progress(): StreamProgress {
    if (this.#finish === undefined) return 'running'
    return this.#isCounted ? 'complete' : 'ended'
  }

  /** Reads an event, or a document. */
  read(event: unknown): CompletionPiece {
    const usage = readCompletionUsage(event)
    if (usage) this.#usage = usage
    const error = findErrorMember(event)
    const choice = error ? undefined : readChoice(event)
    this.#logprobs.read(choice?.['logprobs'])
    this.#finish ??= toTrimmedText(choice?.['finish_reason'])
    this.#stopSequence ??= toText(choice?.['stop_reason']) || undefined
    if (usage && this.#finish !== undefined) this.#isCounted = true
    const message = toObject(choice?.['message'])
    const delta = toObject(choice?.['delta']) ?? message
    if (message && delta === message) this.#isDocument = true
    if (!delta) return { usage, error, texts: [], calls: [], citations: [] }
    const [texts, calls] = [this.#readTexts(delta), this.#readCalls(delta)]
    this.#isEmpty &&= texts.length + calls.length === 0
    return { usage, error, texts, calls, citations: readCitations(delta) }
  }

  /** Returns the end of the answer; throws if the answer is truncated. */
  end(): CompletionFinish {
    const raw = this.#finish ?? (this.#isDocument && !this.#isEmpty ? 'stop' : undefined)
    if (raw === undefined) throw new TruncatedAnswer('the stream ended early')
    const unified = unifyReason(raw)
    const isRefused = this.#isRefusal && unified === 'stop'
    return {
      finishReason: isRefused ? { unified: 'content-filter', raw: 'content_filter' } : { unified, raw },
      usage: toSdkUsage(this.#usage),
      calls: this.#takeNamedCalls(unified === 'length'),
      stopSequence: this.#stopSequence,
      logprobs: this.#logprobs.tokens,
    }
  }

  /**
   * Returns the calls that have a name, as others cannot run. An empty call without a name is dropped; one with
   * arguments is an error unless the answer was cut off.
   */
  #takeNamedCalls(isCut: boolean): readonly AssembledCall[] {
    const named = this.#calls.calls.filter(({ name }) => name)
    const isLost = this.#calls.calls.some((call) => !call.name && call.arguments.trim() !== '')
    if (isLost && !isCut) throw new Error('a call has no name')
    return named
  }

  #readTexts(delta: Members): TextPiece[] {
    const thought = toText(delta['reasoning_content']) || toText(delta['reasoning']) || readReasoningDetails(delta)
    const refusal = toText(delta['refusal'])
    if (refusal) this.#isRefusal = true
    const texts = readContent(delta['content'])
    if (thought) texts.unshift({ type: 'reasoning', text: thought })
    if (refusal) texts.push({ type: 'text', text: refusal })
    return texts
  }

  #readCalls({ tool_calls: calls, function_call: legacyCall }: Members): ToolCallDelta[] {
    const pieces = (Array.isArray(calls) ? calls : []).filter((piece) => toObject(piece)) as RawToolCall[]
    const all = toObject(legacyCall) ? [...pieces, { function: legacyCall }] : pieces
    return all.length > 0 ? this.#calls.add(all, this.#isDocument) : []
  }
}

const toObject = (value: unknown): Members | undefined =>
  typeof value === 'object' && value !== null ? (value as Members) : undefined

const toText = (value: unknown): string => (typeof value === 'string' ? value : '')

const toTrimmedText = (value: unknown): string | undefined => toText(value).trim() || undefined

const readChoice = (event: unknown): Members | undefined => {
  const choices = toObject(event)?.['choices']
  return Array.isArray(choices) ? toObject(choices[0]) : undefined
}

/** Reads a text, or a list of parts that may have reasoning among them. */
function readContent(content: unknown): TextPiece[] {
  if (typeof content === 'string') return content ? [{ type: 'text', text: content }] : []
  return Array.isArray(content) ? content.map(readContentPart).filter(({ text }) => text !== '') : []
}

function readContentPart(part: unknown): TextPiece {
  const { type, text, thinking } = toObject(part) ?? {}
  if (type === 'thinking') return { type: 'reasoning', text: joinThoughts(thinking) }
  return { type: 'text', text: type === 'text' ? toText(text) : '' }
}

const joinThoughts = (thoughts: unknown): string =>
  Array.isArray(thoughts) ? thoughts.map((one) => toText(toObject(one)?.['text'])).join('') : toText(thoughts)

function readCitations({ annotations }: Members): Citation[] {
  if (!Array.isArray(annotations)) return []
  return annotations.flatMap((annotation) => {
    const { url, title } = toObject(toObject(annotation)?.['url_citation']) ?? {}
    return typeof url === 'string' && url ? [{ url, title: toTrimmedText(title) }] : []
  })
}

/** OpenRouter repeats the reasoning here, and some servers send it only here. */
const readReasoningDetails = ({ reasoning_details: details }: Members): string =>
  Array.isArray(details) ? joinThoughts(details) : ''

/** A tool call, or a part of one, as the server sent it. */
interface RawToolCall {
  index?: unknown
  id?: unknown
  function?: unknown
  extra_content?: unknown
}

export interface AssembledCall {
  id: string | undefined
  name: string
  arguments: string
  extraContent: object | undefined
}

/** Arguments that an event adds to a call. */
interface ToolCallDelta {
  /** Index of the call. */
  at: number
  arguments: string
}

interface Piece {
  index: number | undefined
  id: string | undefined
  name: string
  arguments: string
}

interface OpenCall extends AssembledCall {
  index: number | undefined
}

/**
 * Assembles tool calls from their deltas, by id, then by index. Servers leave out either or both, use one for several
 * calls, and change or repeat the id from delta to delta.
 */
class ToolCallAssembler {
  readonly calls: OpenCall[] = []
  #last: OpenCall | undefined
  /** Calls that got a name from the current list of deltas. */
  readonly #namedInEvent = new Set<OpenCall>()

  /** Adds the deltas of one event; those of a document are complete calls. */
  add(pieces: readonly RawToolCall[], isDocument: boolean): ToolCallDelta[] {
    this.#namedInEvent.clear()
    return pieces.map((raw) => {
      const piece = readPiece(raw)
      const call = (isDocument ? undefined : this.#find(piece)) ?? this.#startCall(piece)
      if (piece.name) this.#namedInEvent.add(call)
      call.id ??= piece.id
      call.name ||= piece.name
      call.arguments += piece.arguments
      call.extraContent ??= isObject(raw.extra_content) ? raw.extra_content : undefined
      this.#last = call
      return { at: this.calls.indexOf(call), arguments: piece.arguments }
    })
  }

  #startCall({ index, id }: Piece): OpenCall {
    const call: OpenCall = { index, id, name: '', arguments: '', extraContent: undefined }
    this.calls.push(call)
    return call
  }

  /** Finds the call that a delta continues; undefined if it starts a new one. */
  #find(piece: Piece): OpenCall | undefined {
    const { index, id, name } = piece
    const withId = id && this.calls.findLast((call) => call.id === id && (!name || hasIndex(call, index)))
    if (withId) return name && this.#startsNewCall(piece, withId) ? undefined : withId
    const candidate = index === undefined ? this.#last : this.calls.findLast((call) => call.index === index)
    if (!name) return candidate ?? this.#findUnfinishedCall(piece)
    return candidate && this.#continuesCall(piece, candidate) ? candidate : undefined
  }

  /** A few servers number the deltas where they should number the calls. */
  #findUnfinishedCall({ id, arguments: text }: Piece): OpenCall | undefined {
    const isStray = id === undefined && text.trim() !== ''
    return isStray && this.#last && !isCompleteJson(this.#last.arguments) ? this.#last : undefined
  }

  /** A repeated name starts a new call if the previous call is complete, or if both came in one event. */
  #startsNewCall({ name, arguments: text }: Piece, call: OpenCall): boolean {
    if (this.#namedInEvent.has(call) || (call.name && name !== call.name)) return true
    return text.trim() !== '' && isCompleteJson(call.arguments)
  }

  /** Returns true if a delta with a name and an unknown id continues the call at its index, or the last call. */
  #continuesCall({ index, id, name, arguments: text }: Piece, call: OpenCall): boolean {
    if (this.#namedInEvent.has(call) || (call.name && name !== call.name) || isCompleteJson(call.arguments))
      return false
    // The id and the name of a call may come late.
    if (index !== undefined && (call.id === undefined || id === undefined)) return true
    return call.arguments !== '' && !text.trimStart().startsWith('{')
  }
}

const hasIndex = (call: OpenCall, index: number | undefined) =>
  index === undefined || call.index === undefined || call.index === index

/** Arguments are a JSON object, so they are complete if they end with a brace and parse. */
const isCompleteJson = (text: string) => text.trimEnd().endsWith('}') && tryParseJson(text) !== undefined

function readPiece({ index, id, function: functionPart }: RawToolCall): Piece {
  const { name, arguments: text } = isObject(functionPart) ? functionPart : {}
  return {
    index: readIndex(index),
    id: (typeof id === 'string' && id.trim()) || undefined,
    name: typeof name === 'string' ? name.trim() : '',
    arguments: writeArguments(text),
  }
}

const readIndex = (value: unknown): number | undefined => {
  const index = typeof value === 'string' && value ? Number(value) : value
  return typeof index === 'number' && Number.isInteger(index) ? index : undefined
}

/** Some servers send an object, which is empty until the text comes. */
function writeArguments(text: unknown): string {
  if (typeof text === 'string') return text
  if (isObject(text)) return Object.keys(text).length > 0 ? JSON.stringify(text) : ''
  return ''
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
