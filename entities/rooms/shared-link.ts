import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment } from '../sql/columns.ts'
import { Conversation } from './conversation.ts'

/** These people may read what a link leads to, beside its owner: who is signed in, members of groups, or everybody. */
export const linkAudiences = ['people', 'groups', 'everybody'] as const
export type LinkAudience = (typeof linkAudiences)[number]

/** A link ends when its time is over, or when an administrator ends it; one that its owner ends is deleted. */
const linkEnds = ['time', 'administrator'] as const
export type LinkEnd = (typeof linkEnds)[number]

/**
 * A link to a copy of a branch of a conversation, which the browser of its owner has sealed. The key stands in the
 * fragment of the address, so the service never gets it.
 */
export const SharedLink = defineEntity({
  name: 'SharedLink',
  tableName: 'shared_links',
  properties: {
    id,
    createdAt: moment().defaultRaw('now()'),
    owner: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    conversation: () => p.manyToOne(Conversation).deleteRule('cascade').index().ref(),
    /** The part of the address before the key: 128 random bits. */
    address: p.string().length(22).unique(),
    /** The key of the copy, sealed with the key of the owner's conversations, so that they see the address again. */
    sealedKey: p.text(),
    audience: p.enum(linkAudiences),
    /** The groups that may read it, if its audience is `groups`. */
    groups: p.array().defaultRaw(`'{}'`),
    /** Nobody reads it from then on, and it is deleted. */
    endsAt: moment().index(),
    /** Null before the end is recorded, and for one that a replica of an earlier version recorded. */
    endedBy: p.enum(linkEnds).nullable(),
    /** Time of the copy. The other columns belong to it, too, and are null before the first one is stored. */
    sharedAt: moment().nullable(),
    /** The name of the copy in its file store. */
    uuid: p.uuid().nullable().unique(),
    /** Size of the sealed copy. */
    bytes: p.integer().nullable(),
    /** The key with which the file store encrypts it once more, sealed with the application key. */
    fileKey: p.string().nullable().hidden(),
  },
  checks: [{ name: 'shared_links_copy_check', expression: 'num_nulls(shared_at, uuid, bytes, file_key) in (0, 4)' }],
})
