import { defineEntity, p } from '@mikro-orm/core'
import { pictureIndex } from '../identity/picture.ts'
import { User } from '../identity/user.ts'
import { id, moment } from '../sql/columns.ts'
import { Assistant } from './assistant.ts'
import { Knowledge } from './knowledge.ts'

/** The parameters that an assistant fixes for its answers; others are those of the request or of the model. */
export interface AssistantParameters {
  temperature?: number | undefined
  topP?: number | undefined
  /** The most tokens of an answer; a request may ask for fewer. */
  maxTokens?: number | undefined
}

/** The texts and settings of an assistant as they were saved once. No save changes an earlier version. */
export const AssistantVersion = defineEntity({
  name: 'AssistantVersion',
  tableName: 'assistant_versions',
  indexes: [pictureIndex('assistant_versions')],
  uniques: [{ name: 'assistant_versions_assistant_number_unique', properties: ['assistant', 'number'] }],
  properties: {
    id,
    createdAt: moment().defaultRaw('now()'),
    assistant: () => p.manyToOne(Assistant).deleteRule('cascade').ref(),
    /** Counts from 1 for each assistant. */
    number: p.integer(),
    /** The person who saved it; null for the host, and for somebody who was erased. */
    author: () => p.manyToOne(User).deleteRule('set null').nullable().index().ref(),
    /** The first time that it was published; until then only its editors may use it. */
    publishedAt: moment().nullable(),
    /** The first time that an administrator approved it for all. */
    approvedAt: moment().nullable(),
    /** The storage key of the picture, which several versions may share. */
    avatar: p.string().nullable(),
    name: p.string().length(120),
    description: p.text(),
    model: p.string().length(200),
    /** Names of the models that answer where the model cannot, in order. */
    fallback: p.array().defaultRaw(`'{}'`),
    parameters: p.json<AssistantParameters>().defaultRaw(`'{}'`),
    /** References to the tools that it may use; null for all tools of the model. */
    tools: p.array().nullable(),
    /** The files that its users ask through it; null if it has none, or if they were deleted. */
    knowledge: () => p.manyToOne(Knowledge).deleteRule('set null').nullable().index().ref(),
    /** Hash of the paths and fingerprints of the files that were readable when it was saved; null without knowledge. */
    knowledgeHash: p.string().length(64).nullable(),
    /** Words by which people find it. */
    tags: p.array().defaultRaw(`'{}'`),
    /** True if people may have another model answer with its instructions. */
    allowModelSelect: p.boolean().default(false),
    /** System prompt, greeting and starters as JSON, sealed with the application key. */
    texts: p.text().hidden(),
  },
})
