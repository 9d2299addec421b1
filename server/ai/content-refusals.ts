import type { ChatModel } from './chat-model.ts'
import { Refusal } from './failures/refusal.ts'
import type { PartBatch } from './provider-stream.ts'

/** A model whose provider may refuse a question by a status: an answer ends so, as others tell it within theirs. */
export function tellingRefusals(model: ChatModel): ChatModel {
  return {
    doGenerate: async (options) => {
      try {
        return await model.doGenerate(options)
      } catch (error) {
        return { content: [], ...refusedBy(error) }
      }
    },
    doStream: async (options) => {
      try {
        return await model.doStream(options)
      } catch (error) {
        const end = refusedBy(error)
        return { stream: streamOf([{ type: 'finish', ...end }]) }
      }
    },
  }
}

/** What the question took is not said. */
function refusedBy(error: unknown) {
  if (!(error instanceof Refusal && error.isOfContent)) throw error
  return {
    finishReason: { unified: 'content-filter' as const, raw: 'content_filter' },
    usage: {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    },
  }
}

async function* streamOf(batch: PartBatch): AsyncGenerator<PartBatch, void> {
  yield batch
}
