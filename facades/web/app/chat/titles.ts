import { api, queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { readChatSettings } from '../shared/chat-settings.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { findChosenBase } from '../shared/models/assistants.ts'
import { DEMO_MODEL } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { readOptions } from './chat-options.ts'
import { nameByFirstWords } from './conversation-name.ts'
import { buildConversationQuery, listKnownNames, renameConversation } from './conversations.ts'
import { type OpenedMessage, openMessage } from './message-content.ts'
import { readTask, runTask } from './tasks.ts'
import { cleanTitle, numberTitle } from './title-text.ts'

interface TitledChat {
  slug: string
  key: ConversationKey
}

/** Messages, and characters of each, that a title is made of. */
const MAX_MESSAGES = 6
const MAX_TEXT = 2000

/**
 * Asks a model for a title of the conversation: that of its last answer if the house has set none for titles. Throws if
 * it gives none.
 */
export async function suggestTitle(chat: TitledChat): Promise<string> {
  const messages = await readMessages(chat)
  const title = await askForTitle(chat, messages)
  if (title === '') throw new InputError(t('app.name.noSuggestion'))
  return title
}

/**
 * Names a chat by a model after its first answer, unless the person has named it or wants no titles. If that fails, the
 * first words of the question stay.
 */
export async function nameAfterFirstAnswer(chat: TitledChat): Promise<void> {
  const messages = await readMessages(chat)
  const [question, answer] = messages
  // A question that has waited for the answer may follow it already, but no other version of the answer.
  const isFirst = messages.every(({ parent }, index) => parent === index)
  if (!isFirst || question?.role !== 'user' || !answer?.answer.text) return
  if ((await readChatSettings(chat.key)).hasNoTitles) return
  const firstName = nameByFirstWords(question.answer.text)
  const isUnnamed = async () => {
    const { name, sealedName } = await readConversation(chat)
    // A question of files alone has no words, and its chat has no sealed name.
    return firstName === '' ? sealedName === null : name === firstName
  }
  if (!(await isUnnamed())) return
  const title = await askForTitle(chat, [question, answer])
  if (title !== '' && (await isUnnamed())) await renameConversation(chat.key, chat.slug, title)
}

const readConversation = ({ key, slug }: TitledChat) =>
  queryClient.fetchQuery({ ...buildConversationQuery(key, slug), staleTime: Number.POSITIVE_INFINITY })

async function readMessages({ key, slug }: TitledChat): Promise<OpenedMessage[]> {
  const { data } = await api.conversations.messages.query({ slug, page: { size: MAX_MESSAGES } })
  return Promise.all(data.map((message) => openMessage(key, message)))
}

/** Returns the model that has answered: that of an assistant may be off, so that another one answers for it. */
async function findAnsweringModel({ slug, key }: TitledChat, messages: readonly OpenedMessage[]): Promise<string> {
  const { model, answer } = messages.findLast((message) => message.model) ?? {}
  const { answerModel } = await readOptions(key, slug)
  return answer?.answeredBy ?? findChosenBase(model ?? '', answerModel)?.modelId ?? model ?? ''
}

/** Returns the beginning of a message, or the names of its files if it has no text. */
const writeExcerpt = ({ answer, attachments }: OpenedMessage): string =>
  (answer.text || attachments.map(({ name }) => name).join(', ')).slice(0, MAX_TEXT)

/** Returns an empty text if the model gives no title. */
async function askForTitle(chat: TitledChat, messages: readonly OpenedMessage[]): Promise<string> {
  const task = await readTask('title_generation', await findAnsweringModel(chat, messages))
  // The demo model would answer with a sentence about itself.
  if (!task || task.modelId === DEMO_MODEL) return ''
  const transcript = messages.map((message) => `${message.role}: ${writeExcerpt(message)}`).join('\n\n')
  const title = cleanTitle(await runTask(task, [{ role: 'user', content: [{ type: 'text', text: transcript }] }]))
  return title && numberTitle(title, listKnownNames(chat.slug))
}
