import type { LanguageModelV4Content } from '@ai-sdk/provider'
import type { CallableModel } from '../../routers/ports/ai/models.ts'
import { type ChatModel, upstreamName } from './chat-model.ts'
import type { Part, PartBatch } from './provider-stream.ts'
import { type ThoughtPiece, ThoughtSplitter } from './wire/think-tags.ts'

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
