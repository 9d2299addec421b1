import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall } from '@ai-sdk/provider'
import type { AnswerPart } from '../../routers/model-gateway.ts'
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
export async function beginStream(open: () => Promise<ReadableStream<LanguageModelV4StreamPart>>): Promise<Parts> {
  const iterator = (await open())[Symbol.asyncIterator]()
  let first = await iterator.next()
  while (!first.done && preliminary.has(first.value.type)) first = await iterator.next()
  if (!first.done && first.value.type === 'error') throw first.value.error
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
export async function* relay(parts: Parts, conversation: Conversation): AsyncGenerator<AnswerPart, Said> {
  const said: Said = { text: '', calls: [] }
  for await (const part of parts) {
    if (part.type === 'text-delta') {
      said.text += part.delta
      yield { type: 'delta', text: part.delta }
    } else if (part.type === 'tool-call') said.calls.push(part)
    else if (part.type === 'finish') conversation.count(assertWhole(part).usage)
    else if (part.type === 'error') throw part.error
  }
  return said
}

type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

/** A stream that simply ends has lost its rest. */
function assertWhole(part: Finish): Finish {
  const { unified, raw } = part.finishReason
  if (unified === 'error' || (unified === 'other' && raw === undefined)) throw new Error('the stream ended early')
  return part
}
