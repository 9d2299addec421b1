import type { Reasoning, Source } from '../../../routers/ports/ai/messages.ts'
import type { FinishReason } from '../../../routers/ports/ai/models.ts'
import type { StreamPart, StreamPartOf } from '../../ai/answer.ts'
import type { EventWriter } from '../../http/event-stream.ts'
import { toFailure } from '../../http/failure.ts'
import { toOpenAiError } from '../openai-errors.ts'
import { toApprovalRequestItem, toMcpCallItem, toStartedCallItem } from './responses-approvals.ts'
import {
  type CallItem,
  countCharacters,
  endResponse,
  ItemIds,
  type Response,
  toAnnotations,
  toCallItem,
  toMessageItem,
  toReasoningItem,
  toResponseError,
} from './responses-response.ts'
import { toSummaryItem } from './responses-summary.ts'
import type { ToolTable } from './tool-table.ts'

/** A running tool call. */
interface RunningCall {
  item_id: string
  output_index: number
}

/**
 * Writes a response as events. Each item is added, filled and finished before the next one, except for parallel tool
 * calls. The whole response comes last.
 */
export class ResponseEventWriter implements EventWriter<StreamPart> {
  readonly #response: Response
  readonly #tools: ToolTable
  readonly #ids: ItemIds
  readonly #output: object[] = []
  /** Running calls by their ids. */
  readonly #running = new Map<string, RunningCall>()
  #sequence = 0
  #hasBegun = false
  /** The item that is being streamed. */
  #item: StreamedItem | undefined
  /** Number of characters in the previous messages. */
  #offset = 0
  #finish: FinishReason = 'stop'
  /** The text of a summary, which comes as one item; undefined for an ordinary answer. */
  #summary: string | undefined

  constructor(response: Response, tools: ToolTable, isSummary: boolean) {
    this.#response = response
    this.#tools = tools
    this.#ids = new ItemIds(response.id)
    this.#summary = isSummary ? '' : undefined
  }

  writePart(part: StreamPart): string {
    return this.#writeBegin() + (this.#summary === undefined ? this.#writeContent(part) : this.#writeSummary(part))
  }

  writeEnd(): string {
    return 'data: [DONE]\n\n'
  }

  writeError(thrown: unknown): string {
    const failure = toFailure(thrown)
    const error = toOpenAiError(failure, 'responses')
    const { code, message, param } = error
    const responseError = toResponseError({ code: failure.code, message })
    const response = { ...this.#response, status: 'failed', error: responseError, output: this.#output }
    // Some programs read the first event, some the second; OpenAI's client reads the nested error.
    return (
      this.#writeBegin() +
      this.#writeEvent('response.failed', { response }) +
      this.#writeEvent('error', { code, message, param, error })
    )
  }

  #writeBegin(): string {
    if (this.#hasBegun) return ''
    this.#hasBegun = true
    const response = this.#response
    return this.#writeEvent('response.created', { response }) + this.#writeEvent('response.in_progress', { response })
  }

  #writeContent(part: StreamPart): string {
    switch (part.type) {
      case 'delta':
        return this.#writeText(part)
      case 'reasoning':
        return this.#writeReasoning(part)
      case 'tool-call':
        return this.#closeItem() + this.#writeToolCall(part)
      case 'approval':
        return this.#closeItem() + this.#writeItem(toApprovalRequestItem(part))
      case 'tool-start':
        return this.#closeItem() + this.#writeRunStart(part, 'begun')
      case 'tool-run':
        return this.#closeItem() + this.#writeRunEnd(part)
      case 'tool-use':
      case 'tool-result':
        return ''
      case 'source':
        return this.#writeCitation(part)
      case 'finish':
        this.#finish = part.reason
        return this.#closeItem()
      case 'usage': {
        const response = endResponse(this.#response, this.#output, this.#finish, part)
        return this.#closeItem() + this.#writeEvent(`response.${response.status}`, { response })
      }
    }
  }

  /** Collects the text, and writes it as one item at its end. */
  #writeSummary(part: StreamPart): string {
    if (part.type === 'delta') this.#summary += part.text
    if (part.type === 'finish') {
      this.#finish = part.reason
      return this.#writeItem(toSummaryItem(this.#ids.next('cmp'), this.#summary ?? ''))
    }
    return part.type === 'usage' ? this.#writeContent(part) : ''
  }

  #writeText({ text }: StreamPartOf<'delta'>): string {
    const [opened, message] = this.#openItem(StreamedMessage)
    return opened + this.#writeEvent(...message.append(text))
  }

  #writeReasoning(part: StreamPartOf<'reasoning'>): string {
    const [opened, reasoning] = this.#openItem(StreamedReasoning)
    return opened + this.#writeEvents(reasoning.append(part))
  }

  #writeCitation(source: StreamPartOf<'source'>): string {
    const [opened, message] = this.#openItem(StreamedMessage)
    return opened + this.#writeEvents(message.addCitation(source, this.#offset))
  }

  #writeToolCall(call: StreamPartOf<'tool-call'>): string {
    const item = toCallItem(this.#ids, call, this.#tools)
    const output_index = this.#output.length
    const position = { item_id: item.id, output_index }
    const started = { ...item, ...('input' in item && { input: '' }), status: 'in_progress' }
    const empty = item.type === 'function_call' ? { ...started, arguments: '' } : started
    return (
      this.#writeEvent('response.output_item.added', { output_index, item: empty }) +
      this.#writeCallInput(item, position) +
      this.#writeItemEnd(item)
    )
  }

  /** Writes the input of a function or a custom tool; other calls come whole. */
  #writeCallInput(item: CallItem, position: RunningCall): string {
    if (item.type === 'custom_tool_call')
      return (
        this.#writeEvent('response.custom_tool_call_input.delta', { ...position, delta: item.input }) +
        this.#writeEvent('response.custom_tool_call_input.done', { ...position, input: item.input })
      )
    if (item.type !== 'function_call') return ''
    const { arguments: input, name } = item
    return (
      this.#writeEvent('response.function_call_arguments.delta', { ...position, delta: input }) +
      this.#writeEvent('response.function_call_arguments.done', { ...position, arguments: input, name })
    )
  }

  #writeRunStart(call: StreamPartOf<'tool-start' | 'tool-run'>, state?: 'begun'): string {
    const item = toStartedCallItem(this.#ids.next('mcp'), call)
    const output_index = this.#output.push(item) - 1
    const position = { item_id: item.id, output_index }
    this.#running.set(call.id, position)
    const { arguments: argumentText } = item
    return (
      this.#writeEvent('response.output_item.added', { output_index, item: { ...item, arguments: '' } }) +
      (state ? this.#writeEvent('response.mcp_call.in_progress', position) : '') +
      this.#writeEvent('response.mcp_call_arguments.delta', { ...position, delta: argumentText }) +
      this.#writeEvent('response.mcp_call_arguments.done', { ...position, arguments: argumentText })
    )
  }

  /** Writes the end of a call; a refused call has no start yet. */
  #writeRunEnd(run: StreamPartOf<'tool-run'>): string {
    const begun = this.#running.has(run.id) ? '' : this.#writeRunStart(run)
    const position = this.#running.get(run.id) as RunningCall
    this.#running.delete(run.id)
    const item = toMcpCallItem(position.item_id, run)
    this.#output[position.output_index] = item
    return (
      begun +
      this.#writeEvent(`response.mcp_call.${item.status}`, position) +
      this.#writeEvent('response.output_item.done', { output_index: position.output_index, item })
    )
  }

  #writeItem(item: object): string {
    return (
      this.#writeEvent('response.output_item.added', { output_index: this.#output.length, item }) +
      this.#writeItemEnd(item)
    )
  }

  /** Returns the open item of this kind, with the events that start it. */
  #openItem<Item extends StreamedItem>(Kind: StreamedItemClass<Item>): [events: string, item: Item] {
    if (this.#item instanceof Kind) return ['', this.#item]
    const closed = this.#closeItem()
    const output_index = this.#output.length
    const item = new Kind(this.#ids.next(Kind.prefix), output_index)
    this.#item = item
    const added = this.#writeEvent('response.output_item.added', { output_index, item: item.empty })
    return [closed + added + this.#writeEvent(...item.start()), item]
  }

  #closeItem(): string {
    const item = this.#item
    if (!item) return ''
    this.#item = undefined
    if (item instanceof StreamedMessage) this.#offset += item.length
    return this.#writeEvents(item.end()) + this.#writeItemEnd(item.whole)
  }

  #writeItemEnd(item: object): string {
    const output_index = this.#output.push(item) - 1
    return this.#writeEvent('response.output_item.done', { output_index, item })
  }

  #writeEvents(events: ItemEvent[]): string {
    return events.map((event) => this.#writeEvent(...event)).join('')
  }

  #writeEvent(...[type, data]: ItemEvent): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...data })}\n\n`
  }
}

/** An event without its sequence number. */
type ItemEvent = [type: string, data: object]

/** An item that is streamed in pieces. */
interface StreamedItem {
  /** The item without content. */
  readonly empty: object
  start(): ItemEvent
  end(): ItemEvent[]
  readonly whole: object
}

/** A class of streamed items. */
interface StreamedItemClass<Item extends StreamedItem> {
  /** Prefix of item ids. */
  readonly prefix: string
  new (id: string, index: number): Item
}

class StreamedMessage implements StreamedItem {
  static readonly prefix = 'msg'
  readonly #id: string
  readonly #position: object
  readonly #annotations: object[] = []
  #text = ''

  constructor(id: string, output_index: number) {
    this.#id = id
    this.#position = { item_id: id, output_index, content_index: 0 }
  }

  get empty() {
    return { ...toMessageItem(this.#id, ''), status: 'in_progress', content: [] }
  }

  start(): ItemEvent {
    const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
    return ['response.content_part.added', { ...this.#position, part }]
  }

  append(text: string): ItemEvent {
    this.#text += text
    return ['response.output_text.delta', { ...this.#position, delta: text, logprobs: [] }]
  }

  /**
   * Adds the citations of a source; `from` is the offset of the item in the answer. A page that only an earlier item
   * cites gets no range.
   */
  addCitation({ places, ...page }: Source, from: number): ItemEvent[] {
    const annotations = toAnnotations({ ...page, places }, this.#text, from)
    return (annotations.length > 0 ? annotations : toAnnotations(page, this.#text, from)).map((annotation) => {
      const annotation_index = this.#annotations.push(annotation) - 1
      return ['response.output_text.annotation.added', { ...this.#position, annotation_index, annotation }]
    })
  }

  get length(): number {
    return countCharacters(this.#text)
  }

  end(): ItemEvent[] {
    const [part] = this.whole.content
    return [
      ['response.output_text.done', { ...this.#position, text: this.#text, logprobs: [] }],
      ['response.content_part.done', { ...this.#position, part }],
    ]
  }

  get whole() {
    return toMessageItem(this.#id, this.#text, this.#annotations)
  }
}

class StreamedReasoning implements StreamedItem {
  static readonly prefix = 'rs'
  readonly #id: string
  readonly #position: object
  #text = ''
  #signature: string | undefined

  constructor(id: string, output_index: number) {
    this.#id = id
    this.#position = { item_id: id, output_index, summary_index: 0 }
  }

  get empty() {
    return toReasoningItem(this.#id, { text: '' })
  }

  start(): ItemEvent {
    return ['response.reasoning_summary_part.added', { ...this.#position, part: { type: 'summary_text', text: '' } }]
  }

  /** Appends a thought; a signature without text causes no event. */
  append({ text, signature }: Pick<Reasoning, 'text' | 'signature'>): ItemEvent[] {
    this.#text += text
    this.#signature ??= signature
    return text ? [['response.reasoning_summary_text.delta', { ...this.#position, delta: text }]] : []
  }

  end(): ItemEvent[] {
    const part = { type: 'summary_text', text: this.#text }
    return [
      ['response.reasoning_summary_text.done', { ...this.#position, text: this.#text }],
      ['response.reasoning_summary_part.done', { ...this.#position, part }],
    ]
  }

  get whole() {
    return toReasoningItem(this.#id, { text: this.#text, signature: this.#signature })
  }
}
