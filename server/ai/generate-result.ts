import type { LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { GenerateResult, Part, PartBatch } from './chat-model.ts'
import { TruncatedAnswer } from './provider-errors.ts'
import { toFirstError } from './provider-stream.ts'
import { readUsageOfResponse } from './reported-usage.ts'

type Block = Extract<LanguageModelV4Content, { type: 'text' | 'reasoning' }>
type BlockPart = Extract<Part, { type: `${Block['type']}-${'start' | 'delta' | 'end'}` }>

/** Joins the parts of a stream into content. */
export function joinContent(parts: readonly Part[]): LanguageModelV4Content[] {
  const content: LanguageModelV4Content[] = []
  const blocks = new Map<string, Block>()
  for (const part of parts) {
    if (isCompletePart(part)) content.push(part)
    if (!isBlockPart(part)) continue
    const type = part.type.startsWith('text') ? 'text' : 'reasoning'
    const key = `${type} ${part.id}`
    const block: Block = blocks.get(key) ?? { type, text: '' }
    if (!blocks.has(key)) content.push(block)
    blocks.set(key, block)
    extendBlock(block, part)
  }
  return content
}

function extendBlock(block: Block, part: BlockPart): void {
  if ('delta' in part) block.text += part.delta
  if (part.providerMetadata) block.providerMetadata = { ...block.providerMetadata, ...part.providerMetadata }
  if (part.type === 'text-end' && part.citations) Object.assign(block, { citations: part.citations })
}

const isBlockPart = (part: Part): part is BlockPart => /^(text|reasoning)-/.test(part.type)

const isCompletePart = (part: Part | LanguageModelV4Content) =>
  part.type === 'tool-call' || part.type === 'tool-result' || part.type === 'source'

/** Reads a stream that came instead of a complete response. */
export async function collectStream(stream: AsyncIterable<PartBatch>): Promise<GenerateResult> {
  const parts: Part[] = []
  for await (const batch of stream) parts.push(...batch)
  const failure = parts.find((part) => part.type === 'error')
  if (failure) throw toFirstError(failure.error)
  const finish = parts.findLast((part) => part.type === 'finish')
  if (!finish) throw new TruncatedAnswer('the stream ended early')
  const { usage, finishReason, providerMetadata } = finish
  return { content: joinContent(parts), usage, finishReason, ...(providerMetadata && { providerMetadata }) }
}

/** Converts a complete response to a stream. */
export async function* toStream(answer: GenerateResult): AsyncGenerator<PartBatch, void> {
  const { content, usage, finishReason, providerMetadata, response } = answer
  const finish = { type: 'finish' as const, usage, finishReason, ...(providerMetadata && { providerMetadata }) }
  yield [{ type: 'usage', tokens: readUsageOfResponse(response?.body) }, ...content.flatMap(toStreamParts), finish]
}

function toStreamParts(part: LanguageModelV4Content, at: number): LanguageModelV4StreamPart[] {
  if (isCompletePart(part)) return [part]
  if (part.type !== 'text' && part.type !== 'reasoning') return []
  const id = `${at}`
  const start = { id, ...(part.providerMetadata && { providerMetadata: part.providerMetadata }) }
  const delta = { id, delta: part.text }
  if (part.type === 'reasoning')
    return [
      { type: 'reasoning-start', ...start },
      { type: 'reasoning-delta', ...delta },
      { type: 'reasoning-end', id },
    ]
  return [
    { type: 'text-start', ...start },
    { type: 'text-delta', ...delta },
    { type: 'text-end', id, ...(part.citations && { citations: part.citations }) },
  ]
}
