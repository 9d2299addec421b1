import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment, timestamps } from '../sql/columns.ts'

/** What one person and a model write to each other, as the person's browser has encrypted it. */
export const Conversation = defineEntity({
  name: 'Conversation',
  tableName: 'conversations',
  indexes: [{ properties: ['user', 'updatedAt', 'id'] }],
  uniques: [{ properties: ['user', 'importId'] }],
  properties: {
    id,
    ...timestamps,
    /** In addresses, and never changed. */
    slug: p.string().length(16).unique(),
    user: () => p.manyToOne(User).deleteRule('cascade').ref(),
    /** Not encrypted. */
    name: p.string().length(255),
    systemPrompt: p.text().nullable(),
    /** Stands above the others. */
    isPinned: p.boolean().default(false),
    /** The name of the folder that it lies in; a folder is there as long as something lies in it. Not encrypted. */
    folder: p.string().length(120).nullable(),
    /** What names it where it was imported from; a person has it once. */
    importId: p.string().length(64).nullable(),
    /** When it was thrown away; soon it is deleted, unless its owner takes it back. */
    discardedAt: moment().nullable().index(),
    /** The last number that was given to a message that is no reply: none is given twice. */
    lastSeq: p.integer().default(0),
    messageCount: p.integer().default(0),
    /** Of all its messages. */
    bytes: p.bigint('number').default(0),
  },
})
