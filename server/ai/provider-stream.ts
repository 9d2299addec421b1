import type { LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { AnswerPart } from '../../routers/ports/ai/models.ts'
import type { UsageMeter } from '../../routers/ports/ai/usage-meter.ts'
import type { AssistantMessage } from './assistant-message.ts'
import type { Part, PartBatch } from './chat-model.ts'
import { assertEnd } from './finish-reason.ts'
import { measureUse } from './native-tools.ts'
import { ProviderError, refusalIn, toContentFilterFinish, UnparsableResponse } from './provider-errors.ts'
import { sdkUsage } from './reported-usage.ts'

type Parts = AsyncIterable<PartBatch>

/** Parts that only announce a stream and carry no content. */
const preliminary = new Set<Part['type']>([
  'usage',
  'stream-start',
  'response-metadata',
  'text-start',
  'reasoning-start',
])

/** Opens a stream and waits for the first part with content: until then a failed call can be retried. */
export async function beginStream(open: () => Promise<Parts>, meter: UsageMeter): Promise<Parts> {
  try {
    const iterator = (await open())[Symbol.asyncIterator]()
    return await firstContent(iterator, meter).catch(async (error: unknown) => {
      // Lets go of the provider's connection, which nobody reads any more.
      await iterator.return?.()
      throw error instanceof ProviderError ? error : new UnparsableResponse(error)
    })
  } catch (error) {
    return endStream({ type: 'finish', ...toContentFilterFinish(error) })
  }
}

async function* endStream(end: Finish): AsyncGenerator<PartBatch, void> {
  yield [end]
}

async function firstContent(iterator: AsyncIterator<PartBatch>, meter: UsageMeter): Promise<Parts> {
  for (let step = await iterator.next(); ; step = await iterator.next()) {
    if (!step.done) measure(step.value, meter)
    const real = step.done ? undefined : step.value.find(({ type }) => !preliminary.has(type))
    if (real?.type === 'error') throw asFirstError(real.error)
    if (real || step.done) return replay(step, iterator, meter)
  }
}

async function* replay(
  first: IteratorResult<PartBatch>,
  iterator: AsyncIterator<PartBatch>,
  meter: UsageMeter,
): AsyncGenerator<PartBatch, void> {
  try {
    for (let step = first; !step.done; step = await iterator.next()) {
      if (step !== first) measure(step.value, meter)
      yield step.value
    }
  } finally {
    // Lets go of the provider's connection when the reader stops early.
    await iterator.return?.()
  }
}

/** Counts usage before the parts are read, since the provider bills what it sent even if nobody reads it. */
function measure(parts: PartBatch, meter: UsageMeter): void {
  for (const part of parts) {
    if (part.type === 'usage') meter.reportTokens(part.tokens)
    else if (part.type === 'text-delta' || part.type === 'tool-input-delta') meter.recordText(part.delta, 'answer')
    else if (part.type === 'reasoning-delta') meter.recordText(part.delta, 'reasoning')
    else measureUse(part, meter)
  }
}

/** Counts the usage of an answer that comes in one piece. */
export function measureAnswer(content: readonly LanguageModelV4Content[], meter: UsageMeter): void {
  for (const part of content) {
    if (part.type === 'text') meter.recordText(part.text, 'answer')
    else if (part.type === 'tool-call') meter.recordText(part.input, 'answer')
    else if (part.type === 'reasoning') meter.recordText(part.text, 'reasoning')
    measureUse(part, meter)
  }
}

/** Passes what is said on at once, and keeps it with the calls of tools. Returns how the round ended. */
export async function* forward(
  parts: Parts,
  said: AssistantMessage,
  meter: UsageMeter,
): AsyncGenerator<readonly AnswerPart[], Finish> {
  let finish: Finish | undefined
  for await (const step of parts) {
    const pieces = step.flatMap((part) => (part.type === 'usage' ? [] : (said.append(part) ?? [])))
    finish = step.find((part) => part.type === 'finish') ?? finish
    if (pieces.length > 0) yield pieces
    const failure = step.find((part) => part.type === 'error')
    if (failure) throw asError(failure.error)
  }
  // A stream that ends without a finish part was cut off, so its answer is incomplete.
  if (!finish) throw new Error('the stream ended early')
  assertEnd(finish.finishReason)
  meter.reportTokens(sdkUsage(finish.usage))
  return finish
}

export type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

/** An error that the provider reports in its stream, without its own words, which may quote the conversation. */
const asError = (reported: unknown): Error =>
  reported instanceof Error && reported.name !== 'Error'
    ? reported
    : new Error('the provider reported an error in its stream')

/** The same before any of an answer. */
export const asFirstError = (reported: unknown): Error => refusalIn(reported) ?? asError(reported)
