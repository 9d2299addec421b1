import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment, timestamps } from '../sql/columns.ts'

/** A conversation of one person with a model, encrypted by the person's browser. */
export const Conversation = defineEntity({
  name: 'Conversation',
  tableName: 'conversations',
  indexes: [{ properties: ['user', 'updatedAt', 'id'] }],
  uniques: [{ properties: ['user', 'importId'] }],
  properties: {
    id,
    ...timestamps,
    /** Part of addresses; never changes. */
    slug: p.string().length(16).unique(),
    user: () => p.manyToOne(User).deleteRule('cascade').ref(),
    /** Not encrypted. */
    name: p.string().length(255),
    /** The ciphertext of the name that replaces it in front ends that have the key. */
    sealedName: p.text().nullable(),
    systemPrompt: p.text().nullable(),
    /** The ciphertext of the parameters for its answers. */
    sealedOptions: p.text().nullable(),
    /** Pinned conversations come first. */
    isPinned: p.boolean().default(false),
    /** The name of its folder, which exists as long as it contains something. Not encrypted. */
    folder: p.string().length(120).nullable(),
    /** Archived conversations are in no list except the archive and the results of a search. */
    isArchived: p.boolean().default(false),
    /** Id at the source of the import; unique per person. */
    importId: p.string().length(64).nullable(),
    /** Time when it was discarded; it is deleted soon after, unless the owner restores it. */
    discardedAt: moment().nullable().index(),
    /** The last number assigned to a message that is no reply; numbers are never reused. */
    lastSeq: p.integer().default(0),
    messageCount: p.integer().default(0),
    /** Bytes of all its messages. */
    bytes: p.bigint('number').default(0),
  },
})
