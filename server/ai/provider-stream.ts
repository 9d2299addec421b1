import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall } from '@ai-sdk/provider'
import type { Conversation } from './conversation.ts'

/** What came at once: a step from one part of the service to the next costs more than a piece of text. */
export type PartBatch = readonly LanguageModelV4StreamPart[]
type Parts = AsyncIterable<PartBatch>

/** Parts that say that a stream is there, but nothing yet. */
const preliminary = new Set<LanguageModelV4StreamPart['type']>([
  'stream-start',
  'response-metadata',
  'text-start',
  'reasoning-start',
])

/** Opens a stream and waits for its first real part, so that a failure before it can still be tried again. */
export async function beginStream(open: () => Promise<Parts>): Promise<Parts> {
  const iterator = (await open())[Symbol.asyncIterator]()
  for (let step = await iterator.next(); ; step = await iterator.next()) {
    const real = step.done ? undefined : step.value.find(({ type }) => !preliminary.has(type))
    if (real?.type === 'error') throw asError(real.error)
    if (real || step.done) return resume(step, iterator)
  }
}

async function* resume(
  first: IteratorResult<PartBatch>,
  iterator: AsyncIterator<PartBatch>,
): AsyncGenerator<PartBatch, void> {
  try {
    for (let step = first; !step.done; step = await iterator.next()) yield step.value
  } finally {
    // Lets go of the provider's connection when the reader stops early.
    await iterator.return?.()
  }
}

/** What a model said in one round, and the tools it asked for. */
interface Said {
  text: string
  calls: LanguageModelV4ToolCall[]
}

/** Passes text on as it comes, and gathers the rest. */
export async function* forwardText(parts: Parts, conversation: Conversation): AsyncGenerator<readonly string[], Said> {
  const said: Said = { text: '', calls: [] }
  let finish: Finish | undefined
  for await (const step of parts) {
    const pieces = step.flatMap((part) => (part.type === 'text-delta' ? part.delta : []))
    said.text += pieces.join('')
    said.calls.push(...step.filter((part) => part.type === 'tool-call'))
    finish = step.find((part) => part.type === 'finish') ?? finish
    if (pieces.length > 0) yield pieces
    const failure = step.find((part) => part.type === 'error')
    if (failure) throw asError(failure.error)
  }
  conversation.count(assertWhole(finish).usage)
  return said
}

type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

/** A stream that simply ends has lost its rest. */
function assertWhole(finish: Finish | undefined): Finish {
  const { unified, raw } = finish?.finishReason ?? { unified: 'interrupted', raw: undefined }
  const broken = unified === 'error' || unified === 'interrupted' || (unified === 'other' && raw === undefined)
  if (!finish || broken) throw new Error('the stream ended early')
  return finish
}

/** What a provider reports in its stream is text or an object of its own, which nobody else may see. */
const asError = (reported: unknown): Error =>
  reported instanceof Error && reported.name !== 'Error'
    ? reported
    : new Error('the provider reported an error in its stream', { cause: reported })
