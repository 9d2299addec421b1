import { type AiRequest, api, type Model, queryClient } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/crypto/conversation-key.ts'
import { refreshConversations } from './conversations.ts'
import type { OpenedMessage } from './message-content.ts'
import { keepMessage } from './messages.ts'
import { turns } from './turn.ts'

type AskedMessage = AiRequest['messages'][number]

export interface Question {
  slug: string
  key: ConversationKey
  text: string
  model: Model
  /** What was said before, in its order. */
  history: readonly OpenedMessage[]
}

/** Stores the question, then has the model answer it: nobody pays for what is not kept. */
export async function ask({ slug, key, text, model, history }: Question): Promise<void> {
  const stored = await api.conversations.sendMessage.mutate({ slug, content: await key.seal(text) })
  await keepMessage(key, slug, stored)
  const question = { role: 'user' as const, content: [{ type: 'text' as const, text }] }
  void answer({ slug, key, model, messages: [...messagesFor(history), question] })
}

/** Has the model answer, and the list know that the conversation has changed. */
async function answer({
  slug,
  key,
  model,
  messages,
}: Pick<Question, 'slug' | 'key' | 'model'> & { messages: AskedMessage[] }): Promise<void> {
  const request = { model: model.modelId, messages, conversation: slug, optionalParameters: true, toolUses: true }
  await turns.run({ slug, key, request })
  await refreshConversations()
  void queryClient.invalidateQueries({ queryKey: ['limits'] })
}

/** Of what was said before, no more than so much goes to a model. */
const MAX_HISTORY = 100

export function messagesFor(history: readonly OpenedMessage[]): AskedMessage[] {
  return history.slice(-MAX_HISTORY).flatMap(({ role, answer, isUnreadable }): AskedMessage[] => {
    if (isUnreadable || answer.text === '') return []
    return [{ role, content: [{ type: 'text', text: answer.text }] }]
  })
}
