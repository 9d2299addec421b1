import type { ChatModel } from './chat-model.ts'
import { refusedEnd } from './failures/refused-end.ts'
import type { PartBatch } from './provider-stream.ts'

/** A model whose provider may refuse a question before it answers: an answer ends so, as others tell it within theirs. */
export function tellingRefusals(model: ChatModel): ChatModel {
  return {
    doGenerate: async (options) => {
      try {
        return await model.doGenerate(options)
      } catch (error) {
        return { content: [], ...endBy(error) }
      }
    },
    doStream: async (options) => {
      try {
        return await model.doStream(options)
      } catch (error) {
        return { stream: streamOf([{ type: 'finish', ...endBy(error) }]) }
      }
    },
  }
}

function endBy(error: unknown) {
  const end = refusedEnd(error)
  if (!end) throw error
  return end
}

async function* streamOf(batch: PartBatch): AsyncGenerator<PartBatch, void> {
  yield batch
}
