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

/** A message of a private conversation, by the person or a model. */
export const ConversationMessage = defineEntity({
  name: 'ConversationMessage',
  tableName: 'conversation_messages',
  uniques: [{ properties: ['conversation', 'seq', 'subSeq'] }],
  properties: {
    id,
    ...timestamps,
    conversation: () => p.manyToOne(Conversation).deleteRule('cascade').ref(),
    /** Its number, and that of a reply to it; a message that is no reply has 0. */
    seq: p.integer(),
    subSeq: p.integer().default(0),
    /** The last number assigned to a reply. */
    lastSubSeq: p.integer().default(0),
    /** The number of the preceding message, 0 at the beginning; null for the one directly before it. */
    parentSeq: p.integer().nullable(),
    role: p.enum(conversationRoles),
    model: p.string().nullable(),
    /** `iv|tag|ciphertext`; null if it has only attachments. */
    content: p.text().nullable(),
    /** The tools, parameters and sources of an answer. Not encrypted. */
    metadata: p.json().nullable(),
    /** True if an answer is complete. */
    isComplete: p.boolean(),
    /** Bytes of content and metadata. */
    bytes: p.integer(),
  },
})
