import type { LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Part, PartBatch, WholeAnswer } from './chat-model.ts'
import { asFirstError } from './provider-stream.ts'
import { usageOfWhole } from './reported-usage.ts'

type Block = Extract<LanguageModelV4Content, { type: 'text' | 'reasoning' }>
type BlockPart = Extract<Part, { type: `${Block['type']}-${'start' | 'delta' | 'end'}` }>

/** The content of an answer of which these are the parts. */
export function joinContent(parts: readonly Part[]): LanguageModelV4Content[] {
  const content: LanguageModelV4Content[] = []
  const blocks = new Map<string, Block>()
  for (const part of parts) {
    if (isWhole(part)) content.push(part)
    if (!isOfBlock(part)) continue
    const type = part.type.startsWith('text') ? 'text' : 'reasoning'
    const key = `${type} ${part.id}`
    const block: Block = blocks.get(key) ?? { type, text: '' }
    if (!blocks.has(key)) content.push(block)
    blocks.set(key, block)
    extend(block, part)
  }
  return content
}

function extend(block: Block, part: BlockPart): void {
  if ('delta' in part) block.text += part.delta
  if (part.providerMetadata) block.providerMetadata = { ...block.providerMetadata, ...part.providerMetadata }
  if (part.type === 'text-end' && part.citations) Object.assign(block, { citations: part.citations })
}

const isOfBlock = (part: Part): part is BlockPart => /^(text|reasoning)-/.test(part.type)

const isWhole = (part: Part | LanguageModelV4Content) =>
  part.type === 'tool-call' || part.type === 'tool-result' || part.type === 'source'

/** Reads a stream that came in place of a whole answer. */
export async function collect(stream: AsyncIterable<PartBatch>): Promise<WholeAnswer> {
  const parts: Part[] = []
  for await (const batch of stream) parts.push(...batch)
  const failure = parts.find((part) => part.type === 'error')
  if (failure) throw asFirstError(failure.error)
  const finish = parts.findLast((part) => part.type === 'finish')
  if (!finish) throw new Error('the stream ended early')
  const { usage, finishReason, providerMetadata } = finish
  return { content: joinContent(parts), usage, finishReason, ...(providerMetadata && { providerMetadata }) }
}

/** Hands on as a stream what came as a whole. */
export async function* toStream(answer: WholeAnswer): AsyncGenerator<PartBatch, void> {
  const { content, usage, finishReason, providerMetadata, response } = answer
  const finish = { type: 'finish' as const, usage, finishReason, ...(providerMetadata && { providerMetadata }) }
  yield [{ type: 'usage', tokens: usageOfWhole(response?.body) }, ...content.flatMap(toStreamParts), finish]
}

function toStreamParts(part: LanguageModelV4Content, at: number): LanguageModelV4StreamPart[] {
  if (isWhole(part)) return [part]
  if (part.type !== 'text' && part.type !== 'reasoning') return []
  const id = `${at}`
  const begun = { id, ...(part.providerMetadata && { providerMetadata: part.providerMetadata }) }
  const delta = { id, delta: part.text }
  if (part.type === 'reasoning')
    return [
      { type: 'reasoning-start', ...begun },
      { type: 'reasoning-delta', ...delta },
      { type: 'reasoning-end', id },
    ]
  return [
    { type: 'text-start', ...begun },
    { type: 'text-delta', ...delta },
    { type: 'text-end', id, ...(part.citations && { citations: part.citations }) },
  ]
}
