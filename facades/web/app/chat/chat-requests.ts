import { type AiRequest, api } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { refreshLimits } from '../shared/notices/limit-notice.tsx'
import { t } from '../shared/text/labels.ts'
import { type ChatOptions, readOptions } from './chat-options.ts'
import { refreshConversations } from './conversations.ts'
import type { OpenedMessage } from './message-content.ts'
import { putMessageInCache, readPathTo } from './messages.ts'
import { readSystemPrompt } from './system-prompt.ts'
import { type TurnRequest, turns } from './turn.ts'

type RequestMessage = AiRequest['messages'][number]

/** A conversation and the model that answers in it. */
export interface ChatContext {
  slug: string
  key: ConversationKey
  modelId: string
}

export interface Question {
  text: string
  /** The ids of the uploaded files. */
  attachments: string[]
}

/** Stores a question and returns its number. */
export async function storeQuestion(
  { slug, key }: ChatContext,
  { text, attachments }: Question,
  parent: number,
): Promise<number> {
  const content = text === '' ? null : await key.seal(text)
  const stored = await api.conversations.sendMessage.mutate({ slug, content, attachments, parent })
  return (await putMessageInCache(key, slug, stored)).number
}

/** Stores a question and then requests the answer, so that an answer is only paid for once its question is stored. */
export async function sendQuestion(chat: ChatContext, question: Question, parent: number): Promise<void> {
  requestAnswer(chat, await storeQuestion(chat, question, parent))
}

/** Requests an answer to a message. */
export const requestAnswer = (chat: ChatContext, parent: number): void => void runTurn(chat, { parent })

/** Requests the rest of an answer that was cut. */
export const continueAnswer = (chat: ChatContext, parent: number, partialAnswer: OpenedMessage): void =>
  void runTurn(chat, { parent, partialAnswer })

/** The most messages of the history that are sent to a model. */
const MAX_HISTORY = 200

type AnswerRequest = Pick<TurnRequest, 'parent' | 'partialAnswer'>

async function runTurn(chat: ChatContext, { parent, partialAnswer }: AnswerRequest): Promise<void> {
  const { slug, key, modelId } = chat
  const readRequest = (signal: AbortSignal) => buildRequest(chat, { parent, partialAnswer }, signal)
  await turns.run({ slug, key, modelId, readRequest, parent, partialAnswer })
  await refreshConversations()
  void refreshLimits()
}

/** Builds a request from the stored messages and the system prompt, which it reads where they are not loaded. */
async function buildRequest(
  { slug, key, modelId }: ChatContext,
  { parent, partialAnswer }: AnswerRequest,
  signal: AbortSignal,
): Promise<AiRequest> {
  const last = partialAnswer?.number ?? parent
  const [path, systemPrompt] = await Promise.all([
    readPathTo(key, slug, { parent: last, minLength: MAX_HISTORY }, signal),
    readSystemPrompt(key, slug),
  ])
  const messages = path.slice(-MAX_HISTORY).flatMap(toRequestMessages)
  if (partialAnswer)
    messages.push({ role: 'user', content: [{ type: 'text', text: t('app.message.continueInstruction') }] })
  return {
    model: modelId,
    messages,
    ...(systemPrompt !== '' && { system: [{ type: 'text', text: systemPrompt }] }),
    conversation: slug,
    ...toRequestOptions(readOptions(slug)),
  }
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
