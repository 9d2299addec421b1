import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment, timestamps } from '../sql/columns.ts'
import { type TextNote, textFailures } from '../sql/extracted-text.ts'

/** A collection of files in which its owner searches. */
export const Knowledge = defineEntity({
  name: 'Knowledge',
  tableName: 'knowledge',
  uniques: [{ name: 'knowledge_owner_name_unique', properties: ['owner', 'name'] }],
  properties: {
    id,
    ...timestamps,
    owner: () => p.manyToOne(User).deleteRule('cascade').ref(),
    name: p.string().length(120),
    /** Raised with each change of what a search finds, so that every replica sees that its index is old. */
    version: p.integer().default(0),
  },
})

/** State of a file: waiting for a process that reads it, being read, searchable, or not readable. */
export const knowledgeFileStates = ['waiting', 'reading', 'ready', 'failed'] as const

/** Reasons why a file is not searchable: those of every text, no text at all, or no place in the knowledge. */
export const knowledgeFailures = [...textFailures, 'no-text', 'full'] as const

/**
 * A version of a file, whose bytes are in a file store of their own. A path has one version that is ready, which stays
 * searchable until a newer one is ready.
 */
export const KnowledgeFile = defineEntity({
  name: 'KnowledgeFile',
  tableName: 'knowledge_files',
  indexes: [
    { properties: ['knowledge', 'path'] },
    {
      name: 'knowledge_files_ready_unique',
      expression: `create unique index "knowledge_files_ready_unique" on "knowledge_files" ("knowledge_id", "path") where state = 'ready'`,
    },
    {
      name: 'knowledge_files_unread_index',
      expression: `create index "knowledge_files_unread_index" on "knowledge_files" ("id") where state in ('waiting', 'reading')`,
    },
  ],
  properties: {
    id,
    createdAt: moment().defaultRaw('now()'),
    knowledge: () => p.manyToOne(Knowledge).deleteRule('cascade').ref(),
    /** The name of the file, behind those of its folders, with slashes between them. */
    path: p.string().length(512),
    /** The name of the file in its file store. */
    uuid: p.uuid().unique(),
    /** Detected by the bytes, never by the name. */
    mime: p.string().length(127),
    bytes: p.integer(),
    /** HMAC of the SHA-256 of the bytes, so that a dump does not show which known files are here. */
    fingerprint: p.string().length(64).hidden(),
    /** The key of the file, sealed with the application key. */
    sealedKey: p.string().hidden(),
    state: p.enum(knowledgeFileStates).default('waiting'),
    failure: p.enum(knowledgeFailures).nullable(),
    /** The text search configuration of its language; null before the file was read. */
    language: p.string().length(40).nullable(),
    /** Pages or slides; null if the format has none, and before the file was read. */
    pages: p.integer().nullable(),
    passages: p.integer().default(0),
    /** Estimated tokens of all passages, with what stands above them, as an embedding model gets them; null before the file was read. */
    tokens: p.integer().nullable(),
    /** True if the file has more text than is read. */
    truncated: p.boolean().default(false),
    notes: p.json<TextNote[]>().defaultRaw(`'[]'`),
  },
})

/** The words of the passages of a file. */
export const KnowledgeTerms = defineEntity({
  name: 'KnowledgeTerms',
  tableName: 'knowledge_terms',
  properties: {
    file: () => p.oneToOne(KnowledgeFile).primary().deleteRule('cascade').ref(),
    /** For each passage its words and their numbers, encrypted with a key derived from that of the file. */
    sealed: p.blob().hidden(),
  },
})

/** A passage of a file: what a search finds. */
export const KnowledgePassage = defineEntity({
  name: 'KnowledgePassage',
  tableName: 'knowledge_passages',
  properties: {
    file: () => p.manyToOne(KnowledgeFile).primary().deleteRule('cascade').ref(),
    /** Counts from 0 in each file. */
    ordinal: p.integer().primary(),
    /** Offsets into the text of the file, in UTF-16 units; the end is exclusive. */
    fromOffset: p.integer(),
    toOffset: p.integer(),
    /** The page or slide; null if the file has none. */
    page: p.integer().nullable(),
    /** Text and headings, encrypted with a key derived from that of the file. */
    sealed: p.blob().hidden(),
  },
})
