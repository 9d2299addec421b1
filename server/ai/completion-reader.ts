import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from '@ai-sdk/provider'
import { tryParseJson } from '../../routers/ports/ai/tool-calls.ts'
import type { ReportedTokens } from '../../routers/ports/ai/usage-meter.ts'
import type { Progress } from './event-stream.ts'
import { unifiedReason } from './finish-reason.ts'
import { errorIn } from './provider-errors.ts'
import { completionUsage, toSdkUsage } from './reported-usage.ts'

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

/** A piece of a call of a tool, or the whole call, as servers write it. */
interface WireCall {
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

/** What a piece adds to a call. */
interface CallPiece {
  /** Which of the calls. */
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
 * Puts calls of tools together from their pieces, by id, then by index: servers leave out either or both, give several calls
 * one of them, and change or repeat an id from piece to piece.
 */
class ToolCallAssembler {
  readonly calls: OpenCall[] = []
  #last: OpenCall | undefined
  /** The calls that the list of pieces in hand has named. */
  readonly #named = new Set<OpenCall>()

  /** Adds the pieces that came together; those of a document are whole calls. */
  add(pieces: readonly WireCall[], isDocument: boolean): CallPiece[] {
    this.#named.clear()
    return pieces.map((wire) => {
      const piece = read(wire)
      const call = (isDocument ? undefined : this.#find(piece)) ?? this.#begin(piece)
      if (piece.name) this.#named.add(call)
      call.id ??= piece.id
      call.name ||= piece.name
      call.arguments += piece.arguments
      call.extraContent ??= isObject(wire.extra_content) ? wire.extra_content : undefined
      this.#last = call
      return { at: this.calls.indexOf(call), arguments: piece.arguments }
    })
  }

  #begin({ index, id }: Piece): OpenCall {
    const call: OpenCall = { index, id, name: '', arguments: '', extraContent: undefined }
    this.calls.push(call)
    return call
  }

  /** The call that a piece goes on with; undefined where it begins one. */
  #find(piece: Piece): OpenCall | undefined {
    const { index, id, name } = piece
    const withId = id && this.calls.findLast((call) => call.id === id && (!name || isAt(call, index)))
    if (withId) return name && this.#isAnother(piece, withId) ? undefined : withId
    const near = index === undefined ? this.#last : this.calls.findLast((call) => call.index === index)
    if (!name) return near ?? this.#strayFrom(piece)
    return near && this.#goesOn(piece, near) ? near : undefined
  }

  /** A few servers count pieces where they should count calls. */
  #strayFrom({ id, arguments: written }: Piece): OpenCall | undefined {
    const isStray = id === undefined && written.trim() !== ''
    return isStray && this.#last && !isWhole(this.#last.arguments) ? this.#last : undefined
  }

  /** A name that is repeated with each piece begins another call where the one before it is whole, or came with it. */
  #isAnother({ name, arguments: written }: Piece, call: OpenCall): boolean {
    if (this.#named.has(call) || (call.name && name !== call.name)) return true
    return written.trim() !== '' && isWhole(call.arguments)
  }

  /** Whether a piece with a name, and an id that no call has, belongs to the call at its index, or before it. */
  #goesOn({ index, id, name, arguments: written }: Piece, call: OpenCall): boolean {
    if (this.#named.has(call) || (call.name && name !== call.name) || isWhole(call.arguments)) return false
    // Both the id and the name of a call may come late.
    if (index !== undefined && (call.id === undefined || id === undefined)) return true
    return call.arguments !== '' && !written.trimStart().startsWith('{')
  }
}

const isAt = (call: OpenCall, index: number | undefined) =>
  index === undefined || call.index === undefined || call.index === index

/** Arguments are an object, which ends with its last character. */
const isWhole = (text: string) => text.trimEnd().endsWith('}') && tryParseJson(text) !== undefined

function read({ index, id, function: called }: WireCall): Piece {
  const { name, arguments: written } = isObject(called) ? called : {}
  return {
    index: indexIn(index),
    id: (typeof id === 'string' && id.trim()) || undefined,
    name: typeof name === 'string' ? name.trim() : '',
    arguments: writeArguments(written),
  }
}

const indexIn = (value: unknown): number | undefined => {
  const index = typeof value === 'string' && value ? Number(value) : value
  return typeof index === 'number' && Number.isInteger(index) ? index : undefined
}

/** Some servers write an object, which is empty before its text comes. */
function writeArguments(written: unknown): string {
  if (typeof written === 'string') return written
  if (isObject(written)) return Object.keys(written).length > 0 ? JSON.stringify(written) : ''
  return ''
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
