import type { Reasoning, Source, ToolCall } from '../../routers/ports/ai/messages.ts'
import type { StreamPart, WholeAnswer } from '../ai/answer.ts'
import type { EventWriter } from '../http/event-stream.ts'
import { toFailure } from '../http/failure.ts'
import { toErrorBody } from './anthropic-errors.ts'
import { toInputJson } from './messages-conversation.ts'
import {
  emptyMessage,
  type MessageHeader,
  toCitation,
  toSearchBlocks,
  toSignatureBlocks,
  toStopReason,
  toToolUse,
  toUsage,
} from './messages-response.ts'

const noUsage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }

/** Writes an answer as the events of Anthropic's API: blocks that start, grow and stop one after another. */
export class MessageEventWriter implements EventWriter<StreamPart> {
  readonly keepAlive = writeEvent('ping', {})
  readonly #header: MessageHeader
  readonly #requestId: string
  #hasBegun = false
  /** Index of the open block, or of the next one. */
  #index = 0
  #openType: 'text' | 'thinking' | undefined
  readonly #sources: Source[] = []
  /** True if the open block cites a passage, so that no text may follow in it. */
  #citesPassage = false
  #end: Pick<WholeAnswer, 'finish' | 'stopSequence'> = { finish: 'stop' }

  constructor(header: MessageHeader, requestId: string) {
    this.#header = header
    this.#requestId = requestId
  }

  writePart(part: StreamPart): string {
    return this.#begin() + this.#writeContent(part)
  }

  writeEnd(): string {
    return writeEvent('message_stop', {})
  }

  writeError(thrown: unknown): string {
    return `event: error\ndata: ${JSON.stringify(toErrorBody(toFailure(thrown), this.#requestId))}\n\n`
  }

  #writeContent(part: StreamPart): string {
    switch (part.type) {
      case 'delta':
        return this.#beginText() + this.#writeDelta({ type: 'text_delta', text: part.text })
      case 'reasoning':
        return this.#writeThinking(part)
      case 'tool-call':
        return (
          this.#closeBlock() +
          toSignatureBlocks(part)
            .map((block) => this.#writeBlock(block))
            .join('') +
          this.#writeToolCall(part)
        )
      case 'source':
        this.#sources.push(part)
        this.#citesPassage ||= part.passage !== undefined
        return this.#openBlock('text') + this.#writeDelta({ type: 'citations_delta', citation: toCitation(part) })
      case 'approval':
      case 'tool-start':
      case 'tool-run':
      case 'tool-use':
      case 'tool-result':
        // This API has no approvals, and does not report tools that the service runs.
        return ''
      case 'finish':
        this.#end = { finish: part.reason, stopSequence: part.stopSequence }
        return this.#closeBlock() + this.#writeSearch()
      case 'usage':
        return (
          this.#closeBlock() +
          writeEvent('message_delta', {
            delta: toStopReason(this.#end.finish, this.#end.stopSequence),
            usage: toUsage(part),
          })
        )
    }
  }

  /** The input tokens are only known at the end. */
  #begin(): string {
    if (this.#hasBegun) return ''
    this.#hasBegun = true
    return writeEvent('message_start', { message: { ...emptyMessage(this.#header), usage: toUsage(noUsage) } })
  }

  #writeThinking({ text, signature }: Reasoning): string {
    const opened = this.#openBlock('thinking')
    const delta = text ? this.#writeDelta({ type: 'thinking_delta', thinking: text }) : ''
    if (!signature) return opened + delta
    return opened + delta + this.#writeDelta({ type: 'signature_delta', signature }) + this.#closeBlock()
  }

  #writeToolCall(call: ToolCall): string {
    const start = this.#writeStart(toToolUse(call))
    return (
      start + this.#writeDelta({ type: 'input_json_delta', partial_json: toInputJson(call.input) }) + this.#writeStop()
    )
  }

  #writeSearch(): string {
    return toSearchBlocks(this.#header, this.#sources.splice(0))
      .map((block) => this.#writeBlock(block))
      .join('')
  }

  #writeBlock = (block: object): string => this.#writeStart(block) + this.#writeStop()

  /** A passage is cited by the block that its number ends. */
  #beginText(): string {
    const closed = this.#citesPassage ? this.#closeBlock() : ''
    this.#citesPassage = false
    return closed + this.#openBlock('text')
  }

  #openBlock(type: 'text' | 'thinking'): string {
    if (this.#openType === type) return ''
    const closed = this.#closeBlock()
    this.#openType = type
    const empty = type === 'text' ? { type, text: '' } : { type, thinking: '', signature: '' }
    return closed + this.#writeStart(empty)
  }

  #closeBlock(): string {
    if (!this.#openType) return ''
    this.#openType = undefined
    return this.#writeStop()
  }

  #writeStart = (block: object) => writeEvent('content_block_start', { index: this.#index, content_block: block })

  #writeDelta = (delta: object) => writeEvent('content_block_delta', { index: this.#index, delta })

  #writeStop = () => writeEvent('content_block_stop', { index: this.#index++ })
}

function writeEvent(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
}
