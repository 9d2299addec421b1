import type { ChatModel } from './chat-model.ts'
import { refusedEnd } from './failures/refused-end.ts'

/** A model whose provider may refuse a question before it answers: a whole answer ends so, as others tell it within theirs. */
export function tellingRefusals(model: ChatModel): ChatModel {
  return {
    doGenerate: async (options) => {
      try {
        return await model.doGenerate(options)
      } catch (error) {
        return { content: [], ...refusedEnd(error) }
      }
    },
    doStream: (options) => model.doStream(options),
  }
}
