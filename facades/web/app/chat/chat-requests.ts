import type { AiRequest } from '../shared/api/types.ts'
import { readChatSettings } from '../shared/chat-settings.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import {
  findBaseId,
  findChosenBase,
  findMaxInput,
  isAssistantId,
  refreshAssistants,
} from '../shared/models/assistants.ts'
import { findModel } from '../shared/models/models.ts'
import { refreshLimits } from '../shared/notices/limit-notice.tsx'
import { findPageFile } from '../shared/page-files.ts'
import { readBase64 } from '../shared/read-base64.ts'
import { hasTitles } from '../shared/site.ts'
import { t } from '../shared/text/labels.ts'
import { type ChatOptions, readOptions } from './chat-options.ts'
import { readConversation, refreshConversations } from './conversations.ts'
import { canTake } from './file-fit.tsx'
import { type OpenedMessage, readNumber } from './message-content.ts'
import { putMessageInCache, readSentHistory } from './messages.ts'
import { type QueuedContent, queuedQuestions } from './queued-questions.ts'
import { toRequestMessages } from './request-messages.ts'
import { readSystemPrompt } from './system-prompt.ts'
import { getCalls, isKeeping, isTemporary } from './temporary-chats.ts'
import { nameAfterFirstAnswer } from './titles.ts'
import { type TurnEnd, type TurnRequest, turns } from './turn.ts'

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
  chat: ChatContext,
  { text, attachments }: Question,
  parent: number,
): Promise<number> {
  const content = text === '' ? null : await chat.key.seal(text)
  return storeMessage(chat, { content, attachments, parent })
}

async function storeMessage(
  { slug, key }: ChatContext,
  message: { content: string | null; attachments: string[]; parent: number },
): Promise<number> {
  const stored = await getCalls(slug).sendMessage.mutate({ slug, ...message })
  return (await putMessageInCache(key, slug, stored)).number
}

/** Stores a question and then requests the answer, so that an answer is only paid for once its question is stored. */
export async function sendQuestion(chat: ChatContext, question: Question, parent: number): Promise<void> {
  requestAnswer(chat, await storeQuestion(chat, question, parent))
}

/** Requests an answer to a message, of at most so many tokens. */
export const requestAnswer = (chat: ChatContext, parent: number, maxTokens?: number): void =>
  void runTurn(chat, { parent, maxTokens })

/** Requests the rest of an answer that was cut. */
export const continueAnswer = (chat: ChatContext, parent: number, partialAnswer: OpenedMessage): void =>
  void runTurn(chat, { parent, partialAnswer })

interface AnswerRequest extends Pick<TurnRequest, 'parent' | 'partialAnswer'> {
  /** The longest answer; undefined for the usual one. */
  maxTokens?: number | undefined
}

async function runTurn(chat: ChatContext, { parent, partialAnswer, maxTokens }: AnswerRequest): Promise<void> {
  const { slug, key, modelId } = chat
  // Its answer would come too late to be stored with the chat.
  if (isKeeping(slug)) return
  const readRequest = (signal: AbortSignal) => buildRequest(chat, { parent, partialAnswer, maxTokens }, signal)
  const end = await turns.run({ slug, key, modelId, readRequest, parent, partialAnswer })
  // The person may have lost an assistant that the page still lists.
  if (end?.outcome === 'failed' && isAssistantId(modelId)) void refreshAssistants()
  if (end) void sendQueuedAfter(chat, end)
  await finishTurn(chat, parent)
}

/** Reads again what an answer has changed, and gives a new chat its title. */
export async function finishTurn(chat: Omit<ChatContext, 'modelId'>, parent: number): Promise<void> {
  const { slug } = chat
  await refreshConversations()
  // Without a title, the chat keeps the first words of its question as its name.
  if (hasTitles && parent === FIRST_NUMBER && !isTemporary(slug)) void nameAfterFirstAnswer(chat).catch(() => {})
  void refreshLimits()
}

/** Sends the question that waits for the end of an answer. After a stop or a failure it goes on waiting. */
async function sendQueuedAfter({ slug, key }: ChatContext, { outcome, number }: TurnEnd): Promise<void> {
  if (outcome !== 'complete') queuedQuestions.hold(slug, outcome)
  else if (number !== undefined && queuedQuestions.find(slug)?.state === 'next') await sendQueued({ slug, key }, number)
}

/** Sends the waiting question of a chat, unless another tab has taken it. An error is shown with the question. */
export const sendQueued = async ({ slug, key }: Pick<ChatContext, 'slug' | 'key'>, parent: number): Promise<void> =>
  queuedQuestions.take(slug, async (question) => {
    const chat = { slug, key, modelId: question.modelId }
    const sent = question.sealed === undefined ? undefined : await findSent(slug, question)
    if (sent) {
      const { number } = await putMessageInCache(key, slug, sent.message)
      if (!sent.isAnswered) requestAnswer(chat, number)
      return
    }
    const { text, files } = question
    const sealed = question.sealed ?? (await key.seal(text))
    await queuedQuestions.keepSealed(slug, sealed)
    const content = text === '' ? null : sealed
    const attachments = files.map(({ id }) => id)
    requestAnswer(chat, await storeMessage(chat, { content, attachments, parent }))
  })

/** The newest messages among which one is searched whose response was lost. */
const SEARCHED = 20

/**
 * Finds a question that was stored although its response was lost. Its content is like no other, and without a text its
 * files are in no other message.
 */
async function findSent(slug: string, { text, sealed, files }: QueuedContent) {
  const { data } = await getCalls(slug).messages.query({ slug, page: { size: SEARCHED } })
  const message = data.find(({ content, attachments }) =>
    text === '' ? attachments.some(({ id }) => id === files[0]?.id) : content === sealed,
  )
  return message && { message, isAnswered: data.some(({ parent }) => parent === readNumber(message.number)) }
}

/** The number of the question that begins a chat. */
const FIRST_NUMBER = 1

/** Builds a request from the stored messages and the system prompt, which it reads where they are not loaded. */
export async function buildRequest(
  { slug, key, modelId }: ChatContext,
  { parent, partialAnswer, maxTokens }: AnswerRequest,
  signal: AbortSignal,
): Promise<AiRequest> {
  const [history, instructions, options] = await Promise.all([
    readSentHistory(key, slug, partialAnswer?.number ?? parent, signal),
    readInstructions(key, slug),
    readOptions(key, slug),
  ])
  const answerModel = findChosenBase(modelId, options.answerModel)?.modelId
  const answering = answerModel ?? modelId
  const messages = toRequestMessages(history, findMaxInput(answering), {
    summaryRequest: t('app.summary.request'),
    writeFileName: (name) => t('app.files.sentName', { name }),
  })
  if (partialAnswer)
    messages.push({ role: 'user', content: [{ type: 'text', text: t('app.message.continueInstruction') }] })
  return {
    model: modelId,
    ...(answerModel !== undefined && { answerModel }),
    messages: isTemporary(slug) ? await includePageFiles(messages, answering) : messages,
    ...(instructions !== '' && { system: [{ type: 'text', text: instructions, cache: {} }] }),
    ...(!isTemporary(slug) && { conversation: slug }),
    ...toRequestOptions(options, maxTokens),
  }
}

/** Puts the contents of files that only this page has in place of their ids, and the names of those that a model can't read. */
const includePageFiles = (messages: AiRequest['messages'], modelId: string): Promise<AiRequest['messages']> =>
  Promise.all(
    messages.map(async (message) =>
      message.role === 'user'
        ? { ...message, content: await Promise.all(message.content.map((part) => includePageFile(part, modelId))) }
        : message,
    ),
  )

type UserPart = Extract<AiRequest['messages'][number], { role: 'user' }>['content'][number]

async function includePageFile(part: UserPart, modelId: string): Promise<UserPart> {
  if (part.type !== 'attachment') return part
  const { name, mime, fileType, content } = findPageFile(part.id)
  const model = findModel(findBaseId(modelId))
  if (model && !canTake(model, { fileType })) return { type: 'text', text: t('app.files.unreadName', { name }) }
  return { type: 'file', mime, name, data: await readBase64(content) }
}

/** Reads the instructions for all chats, those of a chat's folder, and its own. */
export async function readInstructions(key: ConversationKey, slug: string): Promise<string> {
  const [settings, systemPrompt, { folder }] = await Promise.all([
    readChatSettings(key),
    readSystemPrompt(key, slug),
    readConversation(key, slug),
  ])
  const ofFolder = folder === null ? '' : (settings.folders[folder]?.instructions ?? '')
  return [settings.instructions, ofFolder, systemPrompt].filter((text) => text !== '').join('\n\n')
}

const toRequestOptions = ({ parameters, areToolsOff }: ChatOptions, maxTokens: number | undefined) => ({
  // The whole request is marked for the cache of providers that keep only what is marked.
  parameters: { ...parameters, ...(maxTokens !== undefined && { maxTokens }), cache: {} },
  optionalParameters: true,
  ...(areToolsOff ? { modelTools: [], toolChoice: 'none' as const } : { mayAsk: 'amid' as const, toolUses: true }),
})
