import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment, timestamps } from '../sql/columns.ts'
import { AssistantVersion } from './assistant-version.ts'

/** These people may use an assistant beside its owner and its editors. */
export const audiences = ['private', 'groups', 'all'] as const
export type Audience = (typeof audiences)[number]

/** A model with instructions of its own, which people share. What it says stands in its versions. */
export const Assistant = defineEntity({
  name: 'Assistant',
  tableName: 'assistants',
  properties: {
    id,
    ...timestamps,
    /** The name in requests, after `assistant/`. */
    handle: p.string().length(64).unique(),
    /** Null for an assistant of the installation, which only the host changes. */
    owner: () => p.manyToOne(User).deleteRule('cascade').nullable().index().ref(),
    audience: p.enum(audiences).default('private'),
    /** The groups that may use it, if its audience is `groups`. */
    groups: p.array().defaultRaw(`'{}'`),
    /** True if whoever may use it may copy it, with its instructions, into an assistant of their own. */
    allowRemix: p.boolean().default(false),
    /** The number of the version that answers; null before one was published. */
    published: p.integer().nullable(),
    /** The number of the newest version. */
    latest: p.integer().default(1),
    /** The number of the version that waits for an administrator, who approves it for all; null if none waits. */
    proposed: p.integer().nullable(),
    proposedAt: moment().nullable(),
    /** The number of the version that an administrator refused last, until another one is proposed. */
    refused: p.integer().nullable(),
    /** The reason of the refusal, in the words of the administrator. */
    refusal: p.text().nullable(),
    versions: () => p.oneToMany(AssistantVersion).mappedBy('assistant'),
  },
})
export type Assistant = InferEntity<typeof Assistant>

/** A person who may change an assistant of somebody else. The first one inherits it from an owner who is erased. */
export const AssistantEditor = defineEntity({
  name: 'AssistantEditor',
  tableName: 'assistant_editors',
  uniques: [{ name: 'assistant_editors_assistant_user_unique', properties: ['assistant', 'user'] }],
  properties: {
    id,
    assistant: () => p.manyToOne(Assistant).deleteRule('cascade').ref(),
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
  },
})

/** An assistant that a person keeps at hand. */
export const AssistantFavorite = defineEntity({
  name: 'AssistantFavorite',
  tableName: 'assistant_favorites',
  uniques: [{ name: 'assistant_favorites_user_assistant_unique', properties: ['user', 'assistant'] }],
  properties: {
    id,
    user: () => p.manyToOne(User).deleteRule('cascade').ref(),
    assistant: () => p.manyToOne(Assistant).deleteRule('cascade').index().ref(),
  },
})
