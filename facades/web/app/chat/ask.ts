import { type AiRequest, api } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { refreshLimits } from '../shared/notices/limit-notice.tsx'
import { parentFor, type Step } from './branches.ts'
import { type ChatOptions, readOptions } from './chat-options.ts'
import { refreshConversations } from './conversations.ts'
import type { OpenedMessage } from './message-content.ts'
import { keepMessage } from './messages.ts'
import { turns } from './turn.ts'

type AskedMessage = AiRequest['messages'][number]

/** A conversation, and which model is asked in it. */
export interface Chat {
  slug: string
  key: ConversationKey
  modelId: string
  /** What models are told before all messages. */
  systemPrompt: string
}

export interface Question {
  text: string
  /** Ids of files that were uploaded for it. */
  attachments: string[]
}

/** Stores a question behind what was said before, then has the model answer it: nobody pays for what is not kept. */
export async function ask(chat: Chat, { text, attachments }: Question, before: readonly Step[]): Promise<void> {
  const { slug, key } = chat
  const content = text === '' ? null : await key.seal(text)
  const parent = parentFor(before)
  const stored = await api.conversations.sendMessage.mutate({ slug, content, attachments, parent })
  const message = await keepMessage(key, slug, stored)
  answer(chat, [...before, { message, versions: [], follows: '' }])
}

/** Has the model answer the question that ends these steps. */
export function answer(chat: Chat, steps: readonly Step[]): void {
  const messages = steps.slice(-MAX_HISTORY).flatMap(({ message }) => messagesFor(message))
  void run(chat, steps, messages)
}

/** Has the model go on where its answer ended. */
export function continueAnswer(chat: Chat, steps: readonly Step[], instruction: string): void {
  const messages = steps.slice(-MAX_HISTORY).flatMap(({ message }) => messagesFor(message))
  const begun = steps.at(-1)?.message
  void run(
    chat,
    steps.slice(0, -1),
    [...messages, { role: 'user', content: [{ type: 'text', text: instruction }] }],
    begun,
  )
}

/** Of what was said before, no more than so much goes to a model. */
const MAX_HISTORY = 200

async function run(
  { slug, key, modelId, systemPrompt }: Chat,
  steps: readonly Step[],
  messages: AskedMessage[],
  begun?: OpenedMessage,
): Promise<void> {
  const request: AiRequest = {
    model: modelId,
    messages,
    ...(systemPrompt !== '' && { system: [{ type: 'text', text: systemPrompt }] }),
    conversation: slug,
    ...settingsFor(readOptions(slug)),
  }
  await turns.run({ slug, key, request, parent: parentFor(steps), begun })
  await refreshConversations()
  void refreshLimits()
}

const settingsFor = ({ parameters, areToolsOff }: ChatOptions) => ({
  parameters,
  optionalParameters: true,
  ...(areToolsOff ? { modelTools: [], toolChoice: 'none' as const } : { mayAsk: 'amid' as const, toolUses: true }),
})

/** A stored message as a model is told it; nothing where there is nothing to tell. */
function messagesFor({ role, answer, attachments, isUnreadable }: OpenedMessage): AskedMessage[] {
  const { text } = answer
  if (isUnreadable) return []
  if (role === 'assistant') return text === '' ? [] : [{ role, content: [{ type: 'text', text }] }]
  const files = attachments.map(({ id }) => ({ type: 'attachment' as const, id, optional: true }))
  const content = [...files, ...(text === '' ? [] : [{ type: 'text' as const, text }])]
  return content.length === 0 ? [] : [{ role, content }]
}
