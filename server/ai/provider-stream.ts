import type { LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { AnswerPart } from '../../routers/ports/ai/models.ts'
import type { UsageMeter } from '../../routers/ports/ai/usage-meter.ts'
import { findPhase } from '../net/response-handler.ts'
import type { AssistantMessage } from './assistant-message.ts'
import type { Part, PartBatch } from './chat-model.ts'
import { assertFinished } from './finish-reason.ts'
import { meterToolUse } from './native-tools.ts'
import {
  ProviderReportedError,
  TruncatedAnswer,
  toContentFilterFinish,
  toReportedError,
  UnparsableResponse,
} from './provider-errors.ts'
import { fromSdkUsage } from './reported-usage.ts'

type Parts = AsyncIterable<PartBatch>

/** Parts without content, which only announce a stream. */
const announcementTypes = new Set<Part['type']>([
  'usage',
  'held',
  'stream-start',
  'response-metadata',
  'text-start',
  'reasoning-start',
])

/** Opens a stream and waits for the first part with content. Until then a failed call can be retried. */
export async function beginStream(open: () => Promise<Parts>, meter: UsageMeter): Promise<Parts> {
  try {
    const iterator = (await open())[Symbol.asyncIterator]()
    return await waitForContent(iterator, meter).catch(async (error: unknown) => {
      // Close the connection, as nobody reads it any more.
      await iterator.return?.()
      throw error instanceof ProviderReportedError ? error : new UnparsableResponse(error)
    })
  } catch (error) {
    return endStream({ type: 'finish', ...toContentFilterFinish(error) })
  }
}

async function* endStream(end: FinishPart): AsyncGenerator<PartBatch, void> {
  yield [end]
}

async function waitForContent(iterator: AsyncIterator<PartBatch>, meter: UsageMeter): Promise<Parts> {
  for (let step = await iterator.next(); ; step = await iterator.next()) {
    if (!step.done) meterParts(step.value, meter)
    const contentPart = step.done ? undefined : step.value.find(({ type }) => !announcementTypes.has(type))
    if (contentPart?.type === 'error') throw toFirstError(contentPart.error)
    if (contentPart || step.done) return replay(step, iterator, meter)
  }
}

async function* replay(
  first: IteratorResult<PartBatch>,
  iterator: AsyncIterator<PartBatch>,
  meter: UsageMeter,
): AsyncGenerator<PartBatch, void> {
  try {
    for (let step = first; !step.done; step = await iterator.next()) {
      if (step !== first) meterParts(step.value, meter)
      yield step.value
    }
  } finally {
    // Close the connection if the reader stops early.
    await iterator.return?.()
  }
}

/** Counts usage before the parts are read, since the provider bills what it sent even if nobody reads it. */
function meterParts(parts: PartBatch, meter: UsageMeter): void {
  for (const part of parts) {
    if (part.type === 'usage') meter.reportTokens(part.tokens)
    else if (part.type === 'held') meter.recordText(part.delta, 'answer')
    else if (!part.isCounted) meterPart(part, meter)
  }
}

function meterPart(part: LanguageModelV4StreamPart, meter: UsageMeter): void {
  if (part.type === 'text-delta' || part.type === 'tool-input-delta') meter.recordText(part.delta, 'answer')
  else if (part.type === 'reasoning-delta') meter.recordText(part.delta, 'reasoning')
  else meterToolUse(part, meter)
  if (part.type === 'reasoning-start' || part.type === 'file') meter.recordUnseen()
  if (part.type === 'tool-input-start') meter.recordCall(part.toolName)
}

/** Counts the usage of a response that was not streamed. */
export function meterContent(content: readonly LanguageModelV4Content[], meter: UsageMeter): void {
  for (const part of content) {
    meterContentPart(part, meter)
    meterToolUse(part, meter)
  }
}

function meterContentPart(part: LanguageModelV4Content, meter: UsageMeter): void {
  if (part.type === 'text') meter.recordText(part.text, 'answer')
  else if (part.type === 'reasoning') meter.recordText(part.text, 'reasoning')
  else if (part.type === 'tool-call') meter.recordText(part.input, 'answer')
  if (part.type === 'reasoning' || part.type === 'file') meter.recordUnseen()
  if (part.type === 'tool-call') meter.recordCall(part.toolName)
}

/** Passes parts on at once and adds them to the message. Returns the part that ended the round. */
export async function* forwardParts(
  parts: Parts,
  message: AssistantMessage,
  meter: UsageMeter,
): AsyncGenerator<readonly AnswerPart[], FinishPart> {
  let finish: FinishPart | undefined
  for await (const step of parts) {
    const pieces = step.flatMap((part) =>
      part.type === 'usage' || part.type === 'held' ? [] : (message.append(part) ?? []),
    )
    finish = step.find((part) => part.type === 'finish') ?? finish
    if (pieces.length > 0) yield pieces
    const failure = step.find((part) => part.type === 'error')
    if (failure) throw toTruncatedAnswer(toStreamError(failure.error))
  }
  // A stream without a finish part was cut off, so the answer is incomplete.
  if (!finish) throw new TruncatedAnswer('the stream ended early')
  assertFinished(finish.finishReason)
  meter.reportTokens(fromSdkUsage(finish.usage))
  return finish
}

export type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

/** Returns the error that the provider reports in its stream, without its message, which may quote the conversation. */
const toStreamError = (reported: unknown): Error =>
  reported instanceof Error && reported.name !== 'Error'
    ? reported
    : new Error('the provider reported an error in its stream')

/** Returns the error for a stream that fails after a part of the answer. */
const toTruncatedAnswer = (error: Error): Error =>
  findPhase(error) === 'reading' ? error : new TruncatedAnswer(error.message, { cause: error })

/** Returns the error for a stream that fails before any part of the answer. */
export const toFirstError = (reported: unknown): Error => toReportedError(reported) ?? toStreamError(reported)
