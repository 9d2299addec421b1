import type { LanguageModelV4Content } from '@ai-sdk/provider'
import type { CallableModel } from '../../routers/ports/ai/models.ts'
import type { Part, PartBatch } from './chat-model.ts'
import { type ChatModel, getUpstreamName } from './chat-model.ts'

/** Models whose reasoning many servers send within the text. */
const taggingModels =
  /(deepseek-r1|qwq|qwen-?3|magistral|glm-(4\.[5-9]|z1)|minimax-m[12]|nemotron|exaone-deep|smollm3|hunyuan|cogito|thinking|reason)/i

type TaggingModel = Pick<CallableModel, 'modelId' | 'upstreamId' | 'settings'>

/** Splits reasoning in tags from the text, for models that are known or configured to write it there. */
export function withThoughtTags(model: ChatModel, modelInfo: TaggingModel): ChatModel {
  if (!(modelInfo.settings?.thinkTags ?? taggingModels.test(getUpstreamName(modelInfo)))) return model
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

/** Reasoning precedes the first text. */
function splitContent(content: readonly LanguageModelV4Content[]): LanguageModelV4Content[] {
  const at = content.findIndex(({ type }) => type === 'text')
  return content.flatMap((part, index): LanguageModelV4Content[] => {
    if (part.type !== 'text' || index !== at) return [part]
    const splitter = new ThoughtSplitter()
    const pieces = [...splitter.feed(part.text), ...splitter.end()]
    const joinTexts = (type: ThoughtPiece['type']) => pieces.map((one) => (one.type === type ? one.text : '')).join('')
    const thought = joinTexts('reasoning')
    return [...(thought ? [{ type: 'reasoning' as const, text: thought }] : []), { ...part, text: joinTexts('text') }]
  })
}

async function* splitStream(stream: AsyncIterable<PartBatch>): AsyncGenerator<PartBatch, void> {
  const splitter = new ThoughtSplitter()
  let id = '0'
  const toParts = (pieces: readonly ThoughtPiece[]): Part[] =>
    pieces.map(({ type, text: delta }) =>
      type === 'text' ? { type: 'text-delta', id, delta } : { type: 'reasoning-delta', id: THOUGHTS, delta },
    )
  for await (const batch of stream) {
    const parts: Part[] = []
    for (const part of batch) {
      if (part.type === 'text-delta') {
        id = part.id
        parts.push(...toParts(splitter.feed(part.delta)))
      } else if (blockEndTypes.has(part.type)) parts.push(...toParts(splitter.end()), part)
      else parts.push(part)
    }
    yield parts
  }
}

const blockEndTypes = new Set<Part['type']>(['text-end', 'tool-call', 'finish', 'error'])

const THOUGHTS = 'thoughts'

/** A piece of answer or reasoning. */
interface ThoughtPiece {
  type: 'text' | 'reasoning'
  text: string
}

const thoughtTags = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['[THINK]', '[/THINK]'],
] as const

/** Splits reasoning in tags before the answer from a text that comes in pieces. */
class ThoughtSplitter {
  /** Text that may be the beginning of a tag. */
  #buffer = ''
  /** The tag that ends the reasoning. */
  #closingTag: string | undefined
  #state: 'before' | 'thinking' | 'after' | 'answer' = 'before'

  feed(text: string): ThoughtPiece[] {
    this.#buffer += text
    const pieces: ThoughtPiece[] = []
    if (this.#state === 'before') this.#readOpeningTag()
    if (this.#state === 'thinking') pieces.push({ type: 'reasoning', text: this.#takeThought() })
    if (this.#state === 'after') this.#skipBlanks()
    if (this.#state === 'answer') pieces.push({ type: 'text', text: this.#takeBuffer() })
    return pieces.filter((piece) => piece.text !== '')
  }

  /** Returns the rest as ordinary text, since no tag followed. */
  end(): ThoughtPiece[] {
    const text = this.#takeBuffer()
    return text ? [{ type: this.#state === 'thinking' ? 'reasoning' : 'text', text }] : []
  }

  #readOpeningTag(): void {
    const trimmed = this.#buffer.trimStart()
    const tag = thoughtTags.find(([opening]) => trimmed.startsWith(opening))
    if (tag) {
      this.#buffer = trimmed.slice(tag[0].length)
      this.#closingTag = tag[1]
      this.#state = 'thinking'
    } else if (!thoughtTags.some(([opening]) => opening.startsWith(trimmed))) this.#state = 'answer'
  }

  #takeThought(): string {
    const closingTag = this.#closingTag ?? ''
    const end = this.#buffer.indexOf(closingTag)
    if (end !== -1) {
      const thought = this.#buffer.slice(0, end)
      this.#buffer = this.#buffer.slice(end + closingTag.length)
      this.#state = 'after'
      return thought
    }
    const partialLength = measurePartialTag(closingTag, this.#buffer)
    const thought = this.#buffer.slice(0, this.#buffer.length - partialLength)
    this.#buffer = this.#buffer.slice(thought.length)
    return thought
  }

  #skipBlanks(): void {
    this.#buffer = this.#buffer.trimStart()
    if (this.#buffer) this.#state = 'answer'
  }

  #takeBuffer(): string {
    const text = this.#buffer
    this.#buffer = ''
    return text
  }
}

/** Returns how many characters at the end of a text may be the start of a tag. */
function measurePartialTag(tag: string, text: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--)
    if (text.endsWith(tag.slice(0, length))) return length
  return 0
}
