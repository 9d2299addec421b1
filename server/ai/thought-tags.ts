import type { JSONObject, LanguageModelV4CallOptions, LanguageModelV4Content } from '@ai-sdk/provider'
import type { CallableModel } from '../../routers/ports/ai/models.ts'
import type { Part, PartBatch } from './chat-model.ts'
import { type ChatModel, getUpstreamName } from './chat-model.ts'

/** Models whose reasoning many servers send within the text. */
const taggingModels =
  /(deepseek-r1|qwq|qwen-?3|magistral|glm-(4\.[5-9]|z1)|minimax-m[12]|nemotron|exaone-deep|smollm3|hunyuan|cogito|thinking|reason)/i

/** Variants of them that never think, so that their text need not be held back. */
const plainVariants = /(instruct|coder)/i

type TaggingModel = Pick<CallableModel, 'modelId' | 'upstreamId' | 'settings'>

/** Splits reasoning in tags from the text, for models that are known or configured to write it there. */
export function withThoughtTags(model: ChatModel, modelInfo: TaggingModel): ChatModel {
  const { thinkTags } = modelInfo.settings ?? {}
  const name = getUpstreamName(modelInfo)
  if (!(thinkTags ?? taggingModels.test(name))) return model
  const mayBeginAmid = thinkTags === true || !plainVariants.test(name)
  const createSplitter = (options: LanguageModelV4CallOptions) =>
    new ThoughtSplitter({ mayBeginAmid: mayBeginAmid && !isThinkingOff(options) })
  return {
    async doGenerate(options) {
      const answer = await model.doGenerate(options)
      return { ...answer, content: splitContent(answer.content, createSplitter(options)) }
    },
    async doStream(options) {
      const { stream } = await model.doStream(options)
      return { stream: splitStream(stream, createSplitter(options)) }
    },
  }
}

function isThinkingOff({ reasoning, providerOptions }: LanguageModelV4CallOptions): boolean {
  const template = providerOptions?.['compatible']?.['chat_template_kwargs'] as JSONObject | undefined
  return reasoning === 'none' || template?.['enable_thinking'] === false || template?.['thinking'] === false
}

/** Reasoning precedes the first text. */
function splitContent(content: readonly LanguageModelV4Content[], splitter: ThoughtSplitter): LanguageModelV4Content[] {
  const at = content.findIndex(({ type }) => type === 'text')
  if (content.some(({ type }) => type === 'reasoning')) splitter.expectAnswer()
  return content.flatMap((part, index): LanguageModelV4Content[] => {
    if (part.type !== 'text' || index !== at) return [part]
    const pieces = [...splitter.feed(part.text), ...splitter.end()]
    const joinTexts = (type: ThoughtPiece['type']) => pieces.map((one) => (one.type === type ? one.text : '')).join('')
    const thought = joinTexts('reasoning')
    return [...(thought ? [{ type: 'reasoning' as const, text: thought }] : []), { ...part, text: joinTexts('text') }]
  })
}

async function* splitStream(
  stream: AsyncIterable<PartBatch>,
  splitter: ThoughtSplitter,
): AsyncGenerator<PartBatch, void> {
  let id = '0'
  const toParts = (pieces: readonly ThoughtPiece[]): Part[] =>
    pieces.map(({ type, text: delta, isHeld }) => {
      if (type === 'held') return { type, delta }
      const counted = isHeld && { isCounted: true as const }
      return type === 'text'
        ? { type: 'text-delta', id, delta, ...counted }
        : { type: 'reasoning-delta', id: THOUGHTS, delta, ...counted }
    })
  const splitPart = (part: Part): Part[] => {
    if (part.type === 'text-delta') {
      id = part.id
      return toParts(splitter.feed(part.delta))
    }
    if (blockEndTypes.has(part.type)) return [...toParts(splitter.end()), part]
    // A server that sends reasoning apart writes none into the text.
    return part.type === 'reasoning-delta' ? [...toParts(splitter.expectAnswer()), part] : [part]
  }
  try {
    for await (const batch of stream) yield batch.flatMap(splitPart)
  } catch (error) {
    // The text that was held back belongs to the answer, even if that breaks off.
    yield toParts(splitter.end())
    throw error
  }
}

const blockEndTypes = new Set<Part['type']>(['text-end', 'tool-call', 'finish', 'error'])

const THOUGHTS = 'thoughts'

/** A piece of answer or reasoning, or of a text that may be either. */
interface ThoughtPiece {
  type: 'text' | 'reasoning' | 'held'
  text: string
  /** True if it came as held pieces before. */
  isHeld?: boolean
}

const thoughtTags = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['[THINK]', '[/THINK]'],
] as const

const longestClosingTag = Math.max(...thoughtTags.map(([, closing]) => closing.length))

/** The longest text that is held back, in characters. */
const MAX_HELD = 500_000

/**
 * Splits reasoning in tags before the answer from a text that comes in pieces. The template of some models has the
 * opening tag, so the text is held back until its closing tag, or its end.
 */
class ThoughtSplitter {
  readonly #mayBeginAmid: boolean
  /** Text that may be the beginning of a tag. */
  #buffer = ''
  /** The tag that ends the reasoning. */
  #closingTag: string | undefined
  #state: 'before' | 'held' | 'thinking' | 'after' | 'answer' = 'before'
  readonly #held: string[] = []
  #heldLength = 0
  /** The end of the held text, which may be the beginning of a tag. */
  #heldEnd = ''

  constructor({ mayBeginAmid }: { mayBeginAmid: boolean }) {
    this.#mayBeginAmid = mayBeginAmid
  }

  feed(text: string): ThoughtPiece[] {
    this.#buffer += text
    const pieces: ThoughtPiece[] = []
    if (this.#state === 'before') this.#readOpeningTag()
    if (this.#state === 'held') pieces.push(...this.#hold())
    if (this.#state === 'thinking') pieces.push({ type: 'reasoning', text: this.#takeThought() })
    if (this.#state === 'after') this.#skipBlanks()
    if (this.#state === 'answer') pieces.push({ type: 'text', text: this.#takeBuffer() })
    return pieces.filter((piece) => piece.text !== '')
  }

  /** Returns the rest as ordinary text, since no tag followed. */
  end(): ThoughtPiece[] {
    const released = this.#state === 'held' ? this.expectAnswer() : []
    const text = this.#takeBuffer()
    return text ? [...released, { type: this.#state === 'thinking' ? 'reasoning' : 'text', text }] : released
  }

  /** Returns the held text, because what comes is the answer. */
  expectAnswer(): ThoughtPiece[] {
    if (this.#state !== 'before' && this.#state !== 'held') return []
    this.#state = 'answer'
    const text = this.#held.join('')
    this.#held.length = 0
    return text ? [{ type: 'text', text, isHeld: true }] : []
  }

  #readOpeningTag(): void {
    const trimmed = this.#buffer.trimStart()
    const tag = thoughtTags.find(([opening]) => trimmed.startsWith(opening))
    if (tag) {
      this.#buffer = trimmed.slice(tag[0].length)
      this.#closingTag = tag[1]
      this.#state = 'thinking'
    } else if (!thoughtTags.some(([opening]) => opening.startsWith(trimmed)))
      this.#state = this.#mayBeginAmid ? 'held' : 'answer'
  }

  /** Holds the buffer back, and looks for a closing tag only where it can begin, because such texts are long. */
  #hold(): ThoughtPiece[] {
    const piece = this.#takeBuffer()
    const end = this.#heldEnd + piece
    const [at, tag] = findClosingTag(end)
    if (tag !== undefined) {
      const held = this.#held.join('')
      const thought = held.slice(0, held.length - this.#heldEnd.length) + end.slice(0, at)
      this.#held.length = 0
      this.#buffer = end.slice(at + tag.length)
      this.#state = 'after'
      // The last piece was not counted yet.
      return [
        { type: 'held', text: piece.slice(0, piece.length - this.#buffer.length) },
        { type: 'reasoning', text: thought, isHeld: true },
      ]
    }
    this.#held.push(piece)
    this.#heldLength += piece.length
    this.#heldEnd = end.slice(1 - longestClosingTag)
    const held: ThoughtPiece = { type: 'held', text: piece }
    return this.#heldLength > MAX_HELD ? [held, ...this.expectAnswer()] : [held]
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

/** Finds the first closing tag of any kind. */
function findClosingTag(text: string): [at: number, tag: string | undefined] {
  const found = thoughtTags
    .map(([, tag]): [number, string] => [text.indexOf(tag), tag])
    .filter(([at]) => at !== -1)
    .toSorted(([one], [other]) => one - other)
  return found[0] ?? [-1, undefined]
}

/** Returns how many characters at the end of a text may be the start of a tag. */
function measurePartialTag(tag: string, text: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--)
    if (text.endsWith(tag.slice(0, length))) return length
  return 0
}
