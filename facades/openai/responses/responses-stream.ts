import type { Reasoning, Source } from '../../../routers/ports/ai/messages.ts'
import type { FinishReason } from '../../../routers/ports/ai/models.ts'
import type { StreamPart } from '../../ai/answer.ts'
import type { Frames } from '../../http/event-stream.ts'
import { toFailure } from '../../http/failure.ts'
import { toOpenAiError } from '../openai-errors.ts'
import { approvalRequestItem, begunCallItem, mcpCallItem } from './responses-approvals.ts'
import {
  callItem,
  ended,
  Ids,
  lengthOf,
  messageItem,
  type Response,
  reasoningItem,
  toAnnotations,
} from './responses-response.ts'
import type { ToolTable } from './responses-tools.ts'

/** A call of a tool that runs. */
interface RunningCall {
  item_id: string
  output_index: number
}

type PartOf<Type extends StreamPart['type']> = Extract<StreamPart, { type: Type }>

/**
 * A response as events: each item is added, said and done before the next, but for calls of tools that run at the same time.
 * The whole response comes last.
 */
export class ResponseEvents implements Frames<StreamPart> {
  readonly #response: Response
  readonly #tools: ToolTable
  readonly #ids: Ids
  readonly #output: object[] = []
  /** By the ids of the calls. */
  readonly #running = new Map<string, RunningCall>()
  #sequence = 0
  #isBegun = false
  /** What is being said. */
  #item: SpokenItem | undefined
  /** Characters of the messages before it. */
  #from = 0
  #finish: FinishReason = 'stop'

  constructor(response: Response, tools: ToolTable) {
    this.#response = response
    this.#tools = tools
    this.#ids = new Ids(response.id)
  }

  part(part: StreamPart): string {
    return this.#begun() + this.#said(part)
  }

  done(): string {
    return 'data: [DONE]\n\n'
  }

  failed(thrown: unknown): string {
    const error = toOpenAiError(toFailure(thrown), 'responses')
    const { code, message } = error
    const response = { ...this.#response, status: 'failed', error: { code, message }, output: this.#output }
    // Some programs read the one, some the other.
    return this.#begun() + this.#event('response.failed', { response }) + this.#event('error', { error })
  }

  #begun(): string {
    if (this.#isBegun) return ''
    this.#isBegun = true
    const response = this.#response
    return this.#event('response.created', { response }) + this.#event('response.in_progress', { response })
  }

  #said(part: StreamPart): string {
    switch (part.type) {
      case 'delta':
        return this.#text(part)
      case 'reasoning':
        return this.#thought(part)
      case 'tool-call':
        return this.#close() + this.#call(part)
      case 'approval':
        return this.#close() + this.#whole(approvalRequestItem(part))
      case 'tool-start':
        return this.#close() + this.#runs(part, 'begun')
      case 'tool-run':
        return this.#close() + this.#ran(part)
      case 'tool-use':
      case 'tool-result':
        return ''
      case 'source':
        return this.#cited(part)
      case 'finish':
        this.#finish = part.reason
        return this.#close()
      case 'usage': {
        const response = ended(this.#response, this.#output, this.#finish, part)
        return this.#close() + this.#event(`response.${response.status}`, { response })
      }
    }
  }

  #text({ text }: PartOf<'delta'>): string {
    const [opened, message] = this.#open(SpokenMessage)
    return opened + this.#event(...message.say(text))
  }

  #thought(part: PartOf<'reasoning'>): string {
    const [opened, reasoning] = this.#open(SpokenReasoning)
    return opened + this.#events(reasoning.say(part))
  }

  #cited(source: PartOf<'source'>): string {
    const [opened, message] = this.#open(SpokenMessage)
    return opened + this.#events(message.cite(source, this.#from))
  }

  #call(call: PartOf<'tool-call'>): string {
    const item = callItem(this.#ids, call, this.#tools)
    const output_index = this.#output.length
    const place = { item_id: item.id, output_index }
    const empty = 'input' in item ? { ...item, input: '' } : { ...item, arguments: '' }
    return (
      this.#event('response.output_item.added', { output_index, item: { ...empty, status: 'in_progress' } }) +
      ('input' in item
        ? this.#event('response.custom_tool_call_input.delta', { ...place, delta: item.input }) +
          this.#event('response.custom_tool_call_input.done', { ...place, input: item.input })
        : this.#event('response.function_call_arguments.delta', { ...place, delta: item.arguments }) +
          this.#event('response.function_call_arguments.done', {
            ...{ ...place, arguments: item.arguments, name: item.name },
          })) +
      this.#finished(item)
    )
  }

  #runs(call: PartOf<'tool-start' | 'tool-run'>, state?: 'begun'): string {
    const item = begunCallItem(this.#ids.next('mcp'), call)
    const output_index = this.#output.push(item) - 1
    const place = { item_id: item.id, output_index }
    this.#running.set(call.id, place)
    const { arguments: said } = item
    return (
      this.#event('response.output_item.added', { output_index, item: { ...item, arguments: '' } }) +
      (state ? this.#event('response.mcp_call.in_progress', place) : '') +
      this.#event('response.mcp_call_arguments.delta', { ...place, delta: said }) +
      this.#event('response.mcp_call_arguments.done', { ...place, arguments: said })
    )
  }

  /** One that was refused has not begun. */
  #ran(run: PartOf<'tool-run'>): string {
    const begun = this.#running.has(run.id) ? '' : this.#runs(run)
    const place = this.#running.get(run.id) as RunningCall
    this.#running.delete(run.id)
    const item = mcpCallItem(place.item_id, run)
    this.#output[place.output_index] = item
    return (
      begun +
      this.#event(`response.mcp_call.${item.status}`, place) +
      this.#event('response.output_item.done', { output_index: place.output_index, item })
    )
  }

  #whole(item: object): string {
    return this.#event('response.output_item.added', { output_index: this.#output.length, item }) + this.#finished(item)
  }

  /** The item of this kind that is being said, with the events that begin it. */
  #open<Item extends SpokenItem>(Kind: SpokenKind<Item>): [events: string, item: Item] {
    if (this.#item instanceof Kind) return ['', this.#item]
    const closed = this.#close()
    const output_index = this.#output.length
    const item = new Kind(this.#ids.next(Kind.prefix), output_index)
    this.#item = item
    const added = this.#event('response.output_item.added', { output_index, item: item.empty })
    return [closed + added + this.#event(...item.begun()), item]
  }

  #close(): string {
    const item = this.#item
    if (!item) return ''
    this.#item = undefined
    if (item instanceof SpokenMessage) this.#from += item.length
    return this.#events(item.ended()) + this.#finished(item.whole)
  }

  #finished(item: object): string {
    const output_index = this.#output.push(item) - 1
    return this.#event('response.output_item.done', { output_index, item })
  }

  #events(events: ItemEvent[]): string {
    return events.map((event) => this.#event(...event)).join('')
  }

  #event(...[type, data]: ItemEvent): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...data })}\n\n`
  }
}

/** An event without its number. */
type ItemEvent = [type: string, data: object]

/** An item that is said in pieces, as the events that tell of it. */
interface SpokenItem {
  /** Before anything is said. */
  readonly empty: object
  begun(): ItemEvent
  ended(): ItemEvent[]
  readonly whole: object
}

/** A kind of such items: made with its id, and its place among the items of the response. */
interface SpokenKind<Item extends SpokenItem> {
  /** Of its ids. */
  readonly prefix: string
  new (id: string, index: number): Item
}

class SpokenMessage implements SpokenItem {
  static readonly prefix = 'msg'
  readonly #id: string
  readonly #place: object
  readonly #annotations: object[] = []
  #text = ''

  constructor(id: string, output_index: number) {
    this.#id = id
    this.#place = { item_id: id, output_index, content_index: 0 }
  }

  get empty() {
    return { ...messageItem(this.#id, ''), status: 'in_progress', content: [] }
  }

  begun(): ItemEvent {
    const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
    return ['response.content_part.added', { ...this.#place, part }]
  }

  say(text: string): ItemEvent {
    this.#text += text
    return ['response.output_text.delta', { ...this.#place, delta: text, logprobs: [] }]
  }

  /** The item begins at this character of the answer. A page that only an earlier one cites has no place in it. */
  cite({ places, ...page }: Source, from: number): ItemEvent[] {
    const here = toAnnotations({ ...page, places }, this.#text, from)
    return (here.length > 0 ? here : toAnnotations(page, this.#text, from)).map((annotation) => {
      const annotation_index = this.#annotations.push(annotation) - 1
      return ['response.output_text.annotation.added', { ...this.#place, annotation_index, annotation }]
    })
  }

  get length(): number {
    return lengthOf(this.#text)
  }

  ended(): ItemEvent[] {
    const [part] = this.whole.content
    return [
      ['response.output_text.done', { ...this.#place, text: this.#text, logprobs: [] }],
      ['response.content_part.done', { ...this.#place, part }],
    ]
  }

  get whole() {
    return messageItem(this.#id, this.#text, this.#annotations)
  }
}

class SpokenReasoning implements SpokenItem {
  static readonly prefix = 'rs'
  readonly #id: string
  readonly #place: object
  #text = ''
  #signature: string | undefined

  constructor(id: string, output_index: number) {
    this.#id = id
    this.#place = { item_id: id, output_index, summary_index: 0 }
  }

  get empty() {
    return reasoningItem(this.#id, { text: '' })
  }

  begun(): ItemEvent {
    return ['response.reasoning_summary_part.added', { ...this.#place, part: { type: 'summary_text', text: '' } }]
  }

  /** A signature without a text tells nothing. */
  say({ text, signature }: Pick<Reasoning, 'text' | 'signature'>): ItemEvent[] {
    this.#text += text
    this.#signature ??= signature
    return text ? [['response.reasoning_summary_text.delta', { ...this.#place, delta: text }]] : []
  }

  ended(): ItemEvent[] {
    const part = { type: 'summary_text', text: this.#text }
    return [
      ['response.reasoning_summary_text.done', { ...this.#place, text: this.#text }],
      ['response.reasoning_summary_part.done', { ...this.#place, part }],
    ]
  }

  get whole() {
    return reasoningItem(this.#id, { text: this.#text, signature: this.#signature })
  }
}
