import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall } from '@ai-sdk/provider'
import type { Conversation } from './conversation.ts'

type Parts = AsyncIterable<LanguageModelV4StreamPart>

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
  let first = await iterator.next()
  while (!first.done && preliminary.has(first.value.type)) first = await iterator.next()
  if (!first.done && first.value.type === 'error') throw asError(first.value.error)
  return resume(first, iterator)
}

async function* resume(
  first: IteratorResult<LanguageModelV4StreamPart>,
  iterator: AsyncIterator<LanguageModelV4StreamPart>,
): AsyncGenerator<LanguageModelV4StreamPart, void> {
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
export async function* relay(parts: Parts, conversation: Conversation): AsyncGenerator<string, Said> {
  const said: Said = { text: '', calls: [] }
  let finish: Finish | undefined
  for await (const part of parts) {
    if (part.type === 'text-delta') {
      said.text += part.delta
      yield part.delta
    } else if (part.type === 'tool-call') said.calls.push(part)
    else if (part.type === 'finish') finish = part
    else if (part.type === 'error') throw asError(part.error)
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
  reported instanceof Error ? reported : new Error('the provider reported an error in its stream')
