import type { Source, TextPart, ToolCall } from '../../routers/ports/ai/messages.ts'
import type { FinishReason } from '../../routers/ports/ai/models.ts'
import type { Usage, WholeAnswer } from '../ai/answer.ts'
import { toInput } from './messages-conversation.ts'

/** The members that identify an answer from its beginning. */
export interface MessageHeader {
  id: string
  model: string
  /** True if the request offers a search of the web, whose results the answer reports. */
  reportsSearch: boolean
}

/** Converts an answer to a message of Anthropic's API. */
export function toMessage(header: MessageHeader, { content, finish, stopSequence, usage }: WholeAnswer) {
  const citedText = new CitedText(content)
  const blocks = content.flatMap((part) => (part.type === 'text' ? citedText.splitBlocks(part) : toBlocks(part)))
  const found = toSearchBlocks(
    header,
    content.filter((part) => part.type === 'source'),
  )
  return {
    ...emptyMessage(header),
    content: [...blocks, ...found],
    ...toStopReason(finish, stopSequence),
    usage: toUsage(usage),
  }
}

/**
 * Returns the call and the results of the search, from which a client lists the pages that were found. They follow the
 * text, because most providers report the pages only then.
 */
export function toSearchBlocks({ id, reportsSearch }: MessageHeader, sources: readonly Source[]): object[] {
  const found = sources.filter(({ passage }) => !passage)
  if (!reportsSearch || found.length === 0) return []
  const pages = new Map(found.map(({ url, title = '' }) => [url, title]))
  const call = { type: 'server_tool_use', id: id.replace('msg_', 'srvtoolu_'), name: 'web_search', input: {} }
  const results = [...pages].map(([url, title]) => ({
    type: 'web_search_result',
    url,
    title,
    encrypted_content: '',
    page_age: null,
  }))
  return [call, { type: 'web_search_tool_result', tool_use_id: call.id, content: results }]
}

function toBlocks(part: Exclude<WholeAnswer['content'][number], { type: 'text' }>): object[] {
  if (part.type === 'source') return []
  if (part.type === 'tool-call') return [...toSignatureBlocks(part), { ...toToolUse(part), input: toInput(part.input) }]
  // This API has no approvals.
  if (part.type !== 'reasoning') return []
  const { text: thinking, signature = '' } = part
  return [{ type: 'thinking', thinking, signature }]
}

/** Creates a message without content. */
export const emptyMessage = ({ id, model }: MessageHeader) => ({
  id,
  type: 'message',
  role: 'assistant',
  model,
  content: [] as object[],
  stop_reason: null,
  stop_sequence: null,
})

/** Returns a block with the provider's signature, which precedes the call and which clients return unchanged. */
export const toSignatureBlocks = ({ signature }: ToolCall) =>
  signature ? [{ type: 'redacted_thinking', data: signature }] : []

export const toToolUse = ({ id, name }: ToolCall) => ({ type: 'tool_use', id, name, input: {} })

const stopReasons: Record<FinishReason, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
}

/** Returns the stop reason. Not every provider reports the stop sequence. */
export const toStopReason = (finish: FinishReason, stopSequence: string | undefined) =>
  finish === 'stop' && stopSequence !== undefined
    ? { stop_reason: 'stop_sequence', stop_sequence: stopSequence }
    : { stop_reason: stopReasons[finish], stop_sequence: null }

/** Converts the usage; Anthropic counts cached tokens separately from the other input. */
export const toUsage = ({ inputTokens, outputTokens, cachedTokens, cacheWriteTokens }: Usage) => ({
  input_tokens: Math.max(0, inputTokens - cachedTokens - cacheWriteTokens),
  cache_creation_input_tokens: cacheWriteTokens,
  cache_read_input_tokens: cachedTokens,
  output_tokens: outputTokens,
})

/** Splits the texts of an answer into blocks, because Anthropic's citations refer to whole blocks. */
class CitedText {
  readonly #sources: readonly Source[]
  readonly #last: TextPart | undefined
  /** Number of characters in the previous texts. */
  #offset = 0

  constructor(content: WholeAnswer['content']) {
    this.#sources = content.filter((part) => part.type === 'source')
    this.#last = content.findLast((part) => part.type === 'text')
  }

  /** Splits the next text. Sources without ranges are cited by the last block. */
  splitBlocks(part: TextPart): object[] {
    const characters = [...part.text]
    const ends = this.#findBlockEnds(characters.length)
    const blocks = ends.map((end, at) => {
      const start = ends[at - 1] ?? 0
      const cited = this.#sources.filter((source) => isCitedIn(source, this.#offset + start, this.#offset + end))
      return { text: characters.slice(start, end).join(''), cited }
    })
    if (part === this.#last) blocks.at(-1)?.cited.push(...this.#sources.filter(({ places }) => !places))
    this.#offset += characters.length
    return blocks.map(({ text, cited }) => ({
      type: 'text',
      text,
      ...(cited.length > 0 && { citations: cited.map(toCitation) }),
    }))
  }

  /** Returns the ends of the blocks of a text. */
  #findBlockEnds(length: number): number[] {
    const cuts = this.#sources
      .flatMap(({ places = [], passage }) => places.flatMap(({ start, end }) => (passage ? [end] : [start, end])))
      .map((at) => at - this.#offset)
    return [...new Set([...cuts.filter((at) => at > 0 && at < length), length])].sort((one, other) => one - other)
  }
}

/** The number of a passage stands at the end of what cites it. */
const isCitedIn = ({ places = [], passage }: Source, start: number, end: number): boolean =>
  places.some((place) => (passage ? place.end === end : place.start <= start && place.end >= end))

/** Converts a source. A passage is a search result with one block; of web pages not every provider reports the text. */
export const toCitation = ({ url, title = '', passage }: Source) =>
  passage
    ? {
        type: 'search_result_location',
        source: url,
        title,
        cited_text: passage.text,
        search_result_index: passage.number - 1,
        start_block_index: 0,
        end_block_index: 1,
      }
    : { type: 'web_search_result_location', url, title, cited_text: '', encrypted_index: '' }
