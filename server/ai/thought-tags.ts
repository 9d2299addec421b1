import type { LanguageModelV4Content } from '@ai-sdk/provider'
import type { CallableModel } from '../../routers/ports/ai/models.ts'
import type { Part, PartBatch } from './chat-model.ts'
import { type ChatModel, upstreamName } from './chat-model.ts'

/** Models of which many servers hand on the thoughts within the text. */
const known =
  /(deepseek-r1|qwq|qwen-?3|magistral|glm-(4\.[5-9]|z1)|minimax-m[12]|nemotron|exaone-deep|smollm3|hunyuan|cogito|thinking|reason)/i

type TaggingModel = Pick<CallableModel, 'modelId' | 'upstreamId' | 'settings'>

/** A model whose thoughts within its text are told as thoughts, where it is known or said to think so. */
export function withThoughtTags(model: ChatModel, of: TaggingModel): ChatModel {
  if (!(of.settings?.thinkTags ?? known.test(upstreamName(of)))) return model
  return {
    async doGenerate(options) {
      const answer = await model.doGenerate(options)
      return { ...answer, content: splitContent(answer.content) }
    },
    async doStream(options) {
      const { stream } = await model.doStream(options)
      return { stream: splitStream(stream) }
    },
  }
}

/** Thoughts stand before the first text. */
function splitContent(content: readonly LanguageModelV4Content[]): LanguageModelV4Content[] {
  const at = content.findIndex(({ type }) => type === 'text')
  return content.flatMap((part, index): LanguageModelV4Content[] => {
    if (part.type !== 'text' || index !== at) return [part]
    const splitter = new ThoughtSplitter()
    const pieces = [...splitter.feed(part.text), ...splitter.end()]
    const texts = (type: ThoughtPiece['type']) => pieces.map((one) => (one.type === type ? one.text : '')).join('')
    const thought = texts('reasoning')
    return [...(thought ? [{ type: 'reasoning' as const, text: thought }] : []), { ...part, text: texts('text') }]
  })
}

async function* splitStream(stream: AsyncIterable<PartBatch>): AsyncGenerator<PartBatch, void> {
  const splitter = new ThoughtSplitter()
  let id = '0'
  const asParts = (pieces: readonly ThoughtPiece[]): Part[] =>
    pieces.map(({ type, text: delta }) =>
      type === 'text' ? { type: 'text-delta', id, delta } : { type: 'reasoning-delta', id: THOUGHTS, delta },
    )
  for await (const batch of stream) {
    const parts: Part[] = []
    for (const part of batch) {
      if (part.type === 'text-delta') {
        id = part.id
        parts.push(...asParts(splitter.feed(part.delta)))
      } else if (ends.has(part.type)) parts.push(...asParts(splitter.end()), part)
      else parts.push(part)
    }
    yield parts
  }
}

const ends = new Set<Part['type']>(['text-end', 'tool-call', 'finish', 'error'])

const THOUGHTS = 'thoughts'

/** What a model says in a piece of text: an answer, or a thought. */
interface ThoughtPiece {
  type: 'text' | 'reasoning'
  text: string
}

const toTags = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['[THINK]', '[/THINK]'],
] as const

/** Finds the thoughts that a model says between tags before its answer, in a text that comes in pieces. */
class ThoughtSplitter {
  /** What may be the beginning of a tag. */
  #held = ''
  /** The tag that ends the thoughts. */
  #closing: string | undefined
  #step: 'before' | 'thinking' | 'after' | 'answer' = 'before'

  feed(text: string): ThoughtPiece[] {
    this.#held += text
    const said: ThoughtPiece[] = []
    if (this.#step === 'before') this.#open()
    if (this.#step === 'thinking') said.push({ type: 'reasoning', text: this.#think() })
    if (this.#step === 'after') this.#skipBlanks()
    if (this.#step === 'answer') said.push({ type: 'text', text: this.#take() })
    return said.filter((piece) => piece.text !== '')
  }

  /** What was held back is what it looked like. */
  end(): ThoughtPiece[] {
    const text = this.#take()
    return text ? [{ type: this.#step === 'thinking' ? 'reasoning' : 'text', text }] : []
  }

  #open(): void {
    const begun = this.#held.trimStart()
    const tag = toTags.find(([opening]) => begun.startsWith(opening))
    if (tag) {
      this.#held = begun.slice(tag[0].length)
      this.#closing = tag[1]
      this.#step = 'thinking'
    } else if (!toTags.some(([opening]) => opening.startsWith(begun))) this.#step = 'answer'
  }

  #think(): string {
    const closing = this.#closing ?? ''
    const end = this.#held.indexOf(closing)
    if (end !== -1) {
      const thought = this.#held.slice(0, end)
      this.#held = this.#held.slice(end + closing.length)
      this.#step = 'after'
      return thought
    }
    const held = lengthOfStart(closing, this.#held)
    const thought = this.#held.slice(0, this.#held.length - held)
    this.#held = this.#held.slice(thought.length)
    return thought
  }

  #skipBlanks(): void {
    this.#held = this.#held.trimStart()
    if (this.#held) this.#step = 'answer'
  }

  #take(): string {
    const text = this.#held
    this.#held = ''
    return text
  }
}

/** How many characters at the end of a text may be the start of a tag. */
function lengthOfStart(tag: string, text: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--)
    if (text.endsWith(tag.slice(0, length))) return length
  return 0
}
