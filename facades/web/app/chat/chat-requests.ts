import { type AiRequest, api } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { refreshLimits } from '../shared/notices/limit-notice.tsx'
import { getLastNumber, type PathStep } from './branches.ts'
import { type ChatOptions, readOptions } from './chat-options.ts'
import { refreshConversations } from './conversations.ts'
import type { OpenedMessage } from './message-content.ts'
import { putMessageInCache } from './messages.ts'
import { turns } from './turn.ts'

type RequestMessage = AiRequest['messages'][number]

/** A conversation and the model that answers in it. */
export interface ChatContext {
  slug: string
  key: ConversationKey
  modelId: string
  /** The system prompt; empty if there is none. */
  systemPrompt: string
}

export interface Question {
  text: string
  /** The ids of the uploaded files. */
  attachments: string[]
}

/** Stores a question and then requests the answer, so that an answer is only paid for once its question is stored. */
export async function sendQuestion(
  chat: ChatContext,
  { text, attachments }: Question,
  before: readonly PathStep[],
): Promise<void> {
  const { slug, key } = chat
  const content = text === '' ? null : await key.seal(text)
  const parent = getLastNumber(before)
  const stored = await api.conversations.sendMessage.mutate({ slug, content, attachments, parent })
  const message = await putMessageInCache(key, slug, stored)
  requestAnswer(chat, [...before, { message, versions: [], follows: '' }])
}

/** Requests the answer to the last message of the path. */
export function requestAnswer(chat: ChatContext, steps: readonly PathStep[]): void {
  const messages = steps.slice(-MAX_HISTORY).flatMap(({ message }) => toRequestMessages(message))
  void runTurn(chat, steps, messages)
}

/** Requests the rest of an answer that was cut. */
export function continueAnswer(chat: ChatContext, steps: readonly PathStep[], instruction: string): void {
  const messages = steps.slice(-MAX_HISTORY).flatMap(({ message }) => toRequestMessages(message))
  const partialAnswer = steps.at(-1)?.message
  void runTurn(
    chat,
    steps.slice(0, -1),
    [...messages, { role: 'user', content: [{ type: 'text', text: instruction }] }],
    partialAnswer,
  )
}

/** The most messages of the history that are sent to a model. */
const MAX_HISTORY = 200

async function runTurn(
  { slug, key, modelId, systemPrompt }: ChatContext,
  steps: readonly PathStep[],
  messages: RequestMessage[],
  partialAnswer?: OpenedMessage,
): Promise<void> {
  const request: AiRequest = {
    model: modelId,
    messages,
    ...(systemPrompt !== '' && { system: [{ type: 'text', text: systemPrompt }] }),
    conversation: slug,
    ...toRequestOptions(readOptions(slug)),
  }
  await turns.run({ slug, key, request, parent: getLastNumber(steps), partialAnswer })
  await refreshConversations()
  void refreshLimits()
}

const toRequestOptions = ({ parameters, areToolsOff }: ChatOptions) => ({
  parameters,
  optionalParameters: true,
  ...(areToolsOff ? { modelTools: [], toolChoice: 'none' as const } : { mayAsk: 'amid' as const, toolUses: true }),
})

/** Converts a stored message to messages of a request; empty messages are left out. */
function toRequestMessages({ role, answer, attachments, isUnreadable }: OpenedMessage): RequestMessage[] {
  const { text } = answer
  if (isUnreadable) return []
  if (role === 'assistant') return text === '' ? [] : [{ role, content: [{ type: 'text', text }] }]
  const files = attachments.map(({ id }) => ({ type: 'attachment' as const, id, optional: true }))
  const content = [...files, ...(text === '' ? [] : [{ type: 'text' as const, text }])]
  return content.length === 0 ? [] : [{ role, content }]
}
