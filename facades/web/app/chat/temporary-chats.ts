import { useSyncExternalStore } from 'react'
import { api, type Conversation, queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import type { StoredMessage } from '../shared/api/types.ts'
import { TEMPORARY_PREFIX } from '../shared/conversation/draft.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { Listeners } from '../shared/listeners.ts'
import { findPageFile, forgetPageFile, nameFiles } from '../shared/page-files.ts'
import { t } from '../shared/text/labels.ts'
import { nameByFirstWords } from './conversation-name.ts'
import { openMessage } from './message-content.ts'

type Calls = typeof api.conversations

/** The calls that a chat needs, which have the same results for a temporary one. */
interface ConversationCalls {
  get: Pick<Calls['get'], 'query'>
  messages: Pick<Calls['messages'], 'query'>
  sendMessage: Pick<Calls['sendMessage'], 'mutate'>
  updateMessage: Pick<Calls['updateMessage'], 'mutate'>
  update: Pick<Calls['update'], 'mutate'>
}

/** Slugs of temporary chats are longer than others. */
export const isTemporary = (slug: string): boolean => slug.startsWith(TEMPORARY_PREFIX)

interface TemporaryChat {
  conversation: Conversation
  messages: StoredMessage[]
  /** True while the chat is being stored, when nothing may be added to it. */
  isKeeping: boolean
  /** Identifies these messages, so that storing them again after an error adds nothing twice and leaves nothing out. */
  importId: string
}

/** The temporary chats of this page, which goes with them. Their texts are encrypted like those of other chats. */
const chats = new Map<string, TemporaryChat>()
const listeners = new Listeners()

function findChat(slug: string): TemporaryChat {
  const chat = chats.get(slug)
  if (!chat) throw new InputError(t('app.temporary.gone'))
  return chat
}

/** Begins a temporary chat and returns its slug. */
export function beginTemporaryChat(preparation: Pick<Conversation, 'systemPrompt' | 'sealedOptions'>): string {
  const slug = TEMPORARY_PREFIX + crypto.randomUUID()
  const now = new Date().toISOString()
  const conversation: Conversation = {
    id: '0',
    slug,
    name: t('app.temporary'),
    sealedName: null,
    ...preparation,
    isPinned: false,
    folder: null,
    isArchived: false,
    messageCount: 0,
    createdAt: now,
    updatedAt: now,
  }
  chats.set(slug, { conversation, messages: [], isKeeping: false, importId: crypto.randomUUID() })
  listeners.notify()
  return slug
}

const temporaryCalls: ConversationCalls = {
  get: { query: async ({ slug }) => findChat(slug).conversation },
  messages: { query: async ({ slug }) => ({ data: [...findChat(slug).messages], meta: { next: null } }) },
  sendMessage: {
    async mutate({ slug, role = 'user', content = null, attachments = [], model = null, parent = null, ...rest }) {
      const chat = findChat(slug)
      const { messages } = chat
      if (chat.isKeeping) throw new InputError(t('app.temporary.keeping'))
      const now = new Date().toISOString()
      const message: StoredMessage = {
        id: `${messages.length + 1}`,
        conversationId: '0',
        number: `${messages.length + 1}.000`,
        role,
        parent,
        author: { id: '0', username: '', displayName: '', avatar: null },
        model,
        content,
        metadata: null,
        isComplete: rest.isComplete ?? true,
        attachments: attachments.map(toAttachment),
        createdAt: now,
        updatedAt: now,
      }
      messages.push(message)
      chat.importId = crypto.randomUUID()
      return message
    },
  },
  updateMessage: {
    async mutate({ slug, number, content = null, isComplete = true }) {
      const chat = findChat(slug)
      const { messages } = chat
      const at = messages.findIndex((each) => each.number === number)
      const before = messages[at]
      if (!before) throw new Error('There is no such message.')
      const after = { ...before, content, isComplete, updatedAt: new Date().toISOString() }
      messages[at] = after
      chat.importId = crypto.randomUUID()
      return after
    },
  },
  update: {
    async mutate({ slug, systemPrompt, sealedOptions }) {
      const chat = findChat(slug)
      const { conversation } = chat
      chat.conversation = {
        ...conversation,
        ...(systemPrompt !== undefined && { systemPrompt }),
        ...(sealedOptions !== undefined && { sealedOptions }),
      }
      return chat.conversation
    },
  },
}

function toAttachment(id: string): StoredMessage['attachments'][number] {
  const { content, ...facts } = findPageFile(id)
  return { ...facts, uuid: id, identifier: '' }
}

/** Returns true if a message of a temporary chat has a file. */
export const isInMessage = (id: string): boolean =>
  [...chats.values()].some(({ messages }) =>
    messages.some(({ attachments }) => attachments.some((file) => file.id === id)),
  )

/** Returns true if a temporary chat has files, which are not kept with it. */
export const hasFiles = (slug: string): boolean =>
  chats.get(slug)?.messages.some(({ attachments }) => attachments.length > 0) ?? false

/** Returns the calls of the service, or those of a temporary chat that never leaves this page. */
export const getCalls = (slug: string): ConversationCalls => (isTemporary(slug) ? temporaryCalls : api.conversations)

/** Returns true if a chat was temporary and is no longer on this page. */
export const useIsGone = (slug: string): boolean =>
  useSyncExternalStore(listeners.subscribe, () => isTemporary(slug) && !chats.has(slug))

/** Returns true from the moment at which a temporary chat is being stored until it is forgotten here. */
export const isKeeping = (slug: string): boolean => chats.get(slug)?.isKeeping ?? false

export const useIsKeeping = (slug: string): boolean => useSyncExternalStore(listeners.subscribe, () => isKeeping(slug))

/** The most messages that one call imports. */
const MAX_IMPORTED = 500

/** Stores a temporary chat, encrypted like others, and returns its new slug. Nothing is added to it from then on. */
export async function keepTemporaryChat(key: ConversationKey, temporarySlug: string): Promise<string> {
  const chat = findChat(temporarySlug)
  const setKeeping = (next: boolean) => {
    chat.isKeeping = next
    listeners.notify()
  }
  setKeeping(true)
  try {
    return await storeChat(key, chat)
  } catch (error) {
    setKeeping(false)
    throw error
  }
}

async function storeChat(key: ConversationKey, chat: TemporaryChat): Promise<string> {
  const { messages } = chat
  const [first] = messages
  const question = first ? (await openMessage(key, first)).answer.text : ''
  const head = {
    importId: chat.importId,
    name: t('app.temporary.keptName'),
    sealedName: await key.seal(nameByFirstWords(question) || t('app.temporary.keptName')),
    createdAt: chat.conversation.createdAt,
    updatedAt: new Date().toISOString(),
  }
  let slug = ''
  for (let after = 0; after === 0 || after < messages.length; after += MAX_IMPORTED) {
    const part = messages.slice(after, after + MAX_IMPORTED)
    const imported = await Promise.all(part.map((message) => toImported(key, message)))
    const isWhole = after + MAX_IMPORTED >= messages.length
    slug = (await api.conversations.import.mutate({ ...head, after, messages: imported, isWhole })).slug
  }
  const { systemPrompt, sealedOptions } = chat.conversation
  await api.conversations.update.mutate({ slug, systemPrompt, sealedOptions })
  return slug
}

async function toImported(key: ConversationKey, message: StoredMessage) {
  const { role, model, content, parent, isComplete, createdAt, number, attachments } = message
  return {
    role,
    model,
    content: (attachments.length > 0 ? await sealWithNames(key, message) : content) ?? '',
    isComplete,
    parent: parent ?? Number.parseInt(number, 10) - 1,
    createdAt,
  }
}

/** Puts the names of a message's files before its text, in place of the files. */
async function sealWithNames(key: ConversationKey, message: StoredMessage): Promise<string> {
  const { text } = (await openMessage(key, message)).answer
  return key.seal(nameFiles(text, message.attachments))
}

/** Removes a temporary chat from this page. */
export function forgetTemporaryChat(slug: string): void {
  for (const { attachments } of chats.get(slug)?.messages ?? []) for (const { id } of attachments) forgetPageFile(id)
  chats.delete(slug)
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey.includes(slug) })
  listeners.notify()
}
