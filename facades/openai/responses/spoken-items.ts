import type { Reasoning, Source } from '../../../routers/ports/ai/messages.ts'
import { annotationsOf, lengthOf, messageItem, reasoningItem } from './response.ts'

/** An event without its number. */
export type ItemEvent = [type: string, data: object]

/** An item that is said in pieces, as the events that tell of it. */
export interface SpokenItem {
  /** Before anything is said. */
  readonly empty: object
  begun(): ItemEvent
  ended(): ItemEvent[]
  readonly whole: object
}

/** A kind of such items: made with its id, and its place among the items of the response. */
export interface SpokenKind<Item extends SpokenItem> {
  /** Of its ids. */
  readonly prefix: string
  new (id: string, index: number): Item
}

export class SpokenMessage implements SpokenItem {
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
    const here = annotationsOf({ ...page, places }, this.#text, from)
    return (here.length > 0 ? here : annotationsOf(page, this.#text, from)).map((annotation) => {
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

export class SpokenReasoning implements SpokenItem {
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
