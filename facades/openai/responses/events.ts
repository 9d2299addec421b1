import type { FinishReason } from '../../../routers/ports/ai/models.ts'
import type { StreamPart } from '../../ai/types.ts'
import type { Frames } from '../../http/event-stream.ts'
import { failureOf } from '../../http/failure.ts'
import { errorOf } from '../errors.ts'
import { approvalRequestItem, begunCallItem, mcpCallItem } from './approvals.ts'
import { annotationOf, callItem, ended, Ids, messageItem, type Response, reasoningItem } from './response.ts'

/** An item that is being said. */
interface OpenItem {
  type: 'message' | 'reasoning'
  id: string
  text: string
  signature?: string | undefined
  annotations: object[]
}

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
  readonly #ids: Ids
  readonly #output: object[] = []
  /** By the ids of the calls. */
  readonly #running = new Map<string, RunningCall>()
  #sequence = 0
  #isBegun = false
  #item: OpenItem | undefined
  #finish: FinishReason = 'stop'

  constructor(response: Response) {
    this.#response = response
    this.#ids = new Ids(response.id)
  }

  part(part: StreamPart): string {
    return this.#begun() + this.#said(part)
  }

  done(): string {
    return 'data: [DONE]\n\n'
  }

  failed(thrown: unknown): string {
    return this.#begun() + this.#event('error', { error: errorOf(failureOf(thrown)) })
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
    const [opened, item] = this.#open('message')
    item.text += text
    return opened + this.#event('response.output_text.delta', { ...this.#place(item), delta: text, logprobs: [] })
  }

  #thought({ text, signature }: PartOf<'reasoning'>): string {
    const [opened, item] = this.#open('reasoning')
    item.text += text
    item.signature ??= signature
    if (!text) return opened
    const place = { item_id: item.id, output_index: this.#output.length, summary_index: 0 }
    return opened + this.#event('response.reasoning_summary_text.delta', { ...place, delta: text })
  }

  #cited(source: PartOf<'source'>): string {
    const [opened, item] = this.#open('message')
    const annotation = annotationOf(source)
    const annotation_index = item.annotations.push(annotation) - 1
    const place = { ...this.#place(item), annotation_index }
    return opened + this.#event('response.output_text.annotation.added', { ...place, annotation })
  }

  #call(call: PartOf<'tool-call'>): string {
    const item = callItem(this.#ids.next('fc'), call)
    const place = { item_id: item.id, output_index: this.#output.length }
    const { arguments: said } = item
    const added = { output_index: this.#output.length, item: { ...item, arguments: '', status: 'in_progress' } }
    return (
      this.#event('response.output_item.added', added) +
      this.#event('response.function_call_arguments.delta', { ...place, delta: said }) +
      this.#event('response.function_call_arguments.done', { ...place, arguments: said, name: item.name }) +
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

  /** The item of this type that is being said, with the events that begin it. */
  #open(type: OpenItem['type']): [events: string, item: OpenItem] {
    if (this.#item?.type === type) return ['', this.#item]
    const closed = this.#close()
    const item = { type, id: this.#ids.next(type === 'message' ? 'msg' : 'rs'), text: '', annotations: [] }
    this.#item = item
    const shown =
      type === 'message'
        ? { ...messageItem(item.id, ''), status: 'in_progress', content: [] }
        : reasoningItem(item.id, item)
    const added = this.#event('response.output_item.added', { output_index: this.#output.length, item: shown })
    const part = { ...this.#place(item), part: { type: 'output_text', text: '', annotations: [], logprobs: [] } }
    const summary = { item_id: item.id, output_index: this.#output.length, summary_index: 0 }
    const begun =
      type === 'message'
        ? this.#event('response.content_part.added', part)
        : this.#event('response.reasoning_summary_part.added', { ...summary, part: { type: 'summary_text', text: '' } })
    return [closed + added + begun, item]
  }

  #close(): string {
    const item = this.#item
    if (!item) return ''
    this.#item = undefined
    return item.type === 'message' ? this.#closeMessage(item) : this.#closeReasoning(item)
  }

  #closeMessage(item: OpenItem): string {
    const whole = messageItem(item.id, item.text, item.annotations)
    const [part] = whole.content
    return (
      this.#event('response.output_text.done', { ...this.#place(item), text: item.text, logprobs: [] }) +
      this.#event('response.content_part.done', { ...this.#place(item), part }) +
      this.#finished(whole)
    )
  }

  #closeReasoning(item: OpenItem): string {
    const place = { item_id: item.id, output_index: this.#output.length, summary_index: 0 }
    const part = { type: 'summary_text', text: item.text }
    return (
      this.#event('response.reasoning_summary_text.done', { ...place, text: item.text }) +
      this.#event('response.reasoning_summary_part.done', { ...place, part }) +
      this.#finished(reasoningItem(item.id, item))
    )
  }

  #finished(item: object): string {
    const output_index = this.#output.push(item) - 1
    return this.#event('response.output_item.done', { output_index, item })
  }

  #place = ({ id }: OpenItem) => ({ item_id: id, output_index: this.#output.length, content_index: 0 })

  #event(type: string, data: object): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...data })}\n\n`
  }
}
