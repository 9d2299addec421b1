import type { Reasoning, ToolCall } from '../../routers/ports/ai/messages.ts'
import type { StreamPart, WholeAnswer } from '../ai/answer.ts'
import type { Frames } from '../http/event-stream.ts'
import { toFailure } from '../http/failure.ts'
import { errorBody } from './anthropic-errors.ts'
import { toInputJson } from './messages-conversation.ts'
import {
  emptyMessage,
  type Heading,
  toCitation,
  toSignatureBlocks,
  toStopReason,
  toToolUse,
  toUsage,
} from './messages-response.ts'

const none = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0 }

/** An answer as the events of Anthropic's API: blocks that begin, grow and end, one after the other. */
export class MessageEvents implements Frames<StreamPart> {
  readonly silence = writeEvent('ping', {})
  readonly #heading: Heading
  readonly #requestId: string
  #isBegun = false
  /** Of the block that is being said, or comes next. */
  #index = 0
  #open: 'text' | 'thinking' | undefined
  #end: Pick<WholeAnswer, 'finish' | 'stopSequence'> = { finish: 'stop' }

  constructor(heading: Heading, requestId: string) {
    this.#heading = heading
    this.#requestId = requestId
  }

  part(part: StreamPart): string {
    return this.#begin() + this.#said(part)
  }

  done(): string {
    return writeEvent('message_stop', {})
  }

  failed(thrown: unknown): string {
    return `event: error\ndata: ${JSON.stringify(errorBody(toFailure(thrown), this.#requestId))}\n\n`
  }

  #said(part: StreamPart): string {
    switch (part.type) {
      case 'delta':
        return this.#in('text') + this.#delta({ type: 'text_delta', text: part.text })
      case 'reasoning':
        return this.#thought(part)
      case 'tool-call':
        return (
          this.#close() +
          toSignatureBlocks(part)
            .map((proof) => this.#whole(proof))
            .join('') +
          this.#call(part)
        )
      case 'source':
        return this.#in('text') + this.#delta({ type: 'citations_delta', citation: toCitation(part) })
      case 'approval':
      case 'tool-start':
      case 'tool-run':
      case 'tool-use':
      case 'tool-result':
        // Nobody is asked here, and told of no tools that others run.
        return ''
      case 'finish':
        this.#end = { finish: part.reason, stopSequence: part.stopSequence }
        return this.#close()
      case 'usage':
        return (
          this.#close() +
          writeEvent('message_delta', {
            delta: toStopReason(this.#end.finish, this.#end.stopSequence),
            usage: toUsage(part),
          })
        )
    }
  }

  /** How much was read is known at the end only. */
  #begin(): string {
    if (this.#isBegun) return ''
    this.#isBegun = true
    return writeEvent('message_start', { message: { ...emptyMessage(this.#heading), usage: toUsage(none) } })
  }

  #thought({ text, signature }: Reasoning): string {
    const opened = this.#in('thinking')
    const said = text ? this.#delta({ type: 'thinking_delta', thinking: text }) : ''
    if (!signature) return opened + said
    return opened + said + this.#delta({ type: 'signature_delta', signature }) + this.#close()
  }

  #call(call: ToolCall): string {
    const begun = this.#start(toToolUse(call))
    return begun + this.#delta({ type: 'input_json_delta', partial_json: toInputJson(call.input) }) + this.#stop()
  }

  #whole = (block: object): string => this.#start(block) + this.#stop()

  #in(type: 'text' | 'thinking'): string {
    if (this.#open === type) return ''
    const closed = this.#close()
    this.#open = type
    const empty = type === 'text' ? { type, text: '' } : { type, thinking: '', signature: '' }
    return closed + this.#start(empty)
  }

  #close(): string {
    if (!this.#open) return ''
    this.#open = undefined
    return this.#stop()
  }

  #start = (block: object) => writeEvent('content_block_start', { index: this.#index, content_block: block })

  #delta = (delta: object) => writeEvent('content_block_delta', { index: this.#index, delta })

  #stop = () => writeEvent('content_block_stop', { index: this.#index++ })
}

function writeEvent(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
}
