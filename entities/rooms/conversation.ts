import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, timestamps } from '../sql/columns.ts'

/** What one person and a model write to each other, as the person's browser has encrypted it. */
export const Conversation = defineEntity({
  name: 'Conversation',
  tableName: 'conversations',
  indexes: [{ properties: ['user', 'updatedAt', 'id'] }],
  properties: {
    id,
    ...timestamps,
    /** In addresses, and never changed. */
    slug: p.string().length(16).unique(),
    user: () => p.manyToOne(User).deleteRule('cascade').ref(),
    /** Not encrypted. */
    name: p.string().length(255),
    systemPrompt: p.text().nullable(),
    /** The last number that was given to a message that is no reply: none is given twice. */
    lastSeq: p.integer().default(0),
    messageCount: p.integer().default(0),
    /** Of all its messages. */
    bytes: p.bigint('number').default(0),
  },
})
