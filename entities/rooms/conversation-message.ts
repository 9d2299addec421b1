import { defineEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'
import { Conversation } from './conversation.ts'

export const conversationRoles = ['user', 'assistant'] as const

/** The tools, parameters and sources of an answer, as the client keeps them. */
export interface MessageMetadata {
  tools?: unknown
  params?: unknown
  citations?: unknown
}

/** What somebody has written in their conversation, or a model has answered. */
export const ConversationMessage = defineEntity({
  name: 'ConversationMessage',
  tableName: 'conversation_messages',
  uniques: [{ properties: ['conversation', 'seq', 'subSeq'] }],
  properties: {
    id,
    ...timestamps,
    conversation: () => p.manyToOne(Conversation).deleteRule('cascade').ref(),
    /** Its number, and that of a reply below it; a message that is no reply has 0. */
    seq: p.integer(),
    subSeq: p.integer().default(0),
    /** The last number that was given to a reply to it. */
    lastSubSeq: p.integer().default(0),
    /** The number of the message that it follows, 0 at the beginning; nothing where it follows the one before it. */
    parentSeq: p.integer().nullable(),
    role: p.enum(conversationRoles),
    model: p.string().nullable(),
    /** `iv|tag|ciphertext`; nothing where it has attachments alone. */
    content: p.text().nullable(),
    /** The tools, parameters and sources of an answer. Not encrypted. */
    metadata: p.json().nullable(),
    /** Whether an answer was written to its end. */
    isComplete: p.boolean(),
    /** Of content and metadata. */
    bytes: p.integer(),
  },
})
