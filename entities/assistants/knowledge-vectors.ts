import { defineEntity, p } from '@mikro-orm/core'
import { id, moment } from '../sql/columns.ts'
import { KnowledgeFile } from './knowledge.ts'

/** State of an index: not whole yet, searched, or replaced by another one. */
export const knowledgeIndexStates = ['building', 'active', 'retired'] as const

/** Vectors of all knowledge by one embedding model. One index is searched, and one may be built beside it. */
export const KnowledgeIndex = defineEntity({
  name: 'KnowledgeIndex',
  tableName: 'knowledge_indexes',
  indexes: [
    {
      name: 'knowledge_indexes_state_unique',
      expression: `create unique index "knowledge_indexes_state_unique" on "knowledge_indexes" ("state") where state <> 'retired'`,
    },
  ],
  properties: {
    id,
    createdAt: moment().defaultRaw('now()'),
    /** The name of the embedding model in requests. */
    model: p.string().length(200),
    /** The dimensions that the model is asked for; null for its own. */
    dimensions: p.integer().nullable(),
    /** The dimensions of its vectors; null before the first one. */
    length: p.integer().nullable(),
    state: p.enum(knowledgeIndexStates).default('building'),
    retiredAt: moment().nullable(),
    /** Tokens of all embedded passages, by our estimate and by the bills. The two tell how far later estimates are off. */
    estimatedTokens: p.bigint('number').default(0),
    billedTokens: p.bigint('number').default(0),
  },
})

/** State of a file in an index: passages are missing, all are embedded, or the model refused one. */
export const knowledgeEmbeddingStates = ['pending', 'whole', 'refused'] as const

/** Reasons why embedding waits: the provider fails, a limit has no room, or there is no such model. */
export const knowledgeDelays = ['provider', 'limit', 'model'] as const

/** The embedding of a file for an index. Its vectors are searched once all passages have one. */
export const KnowledgeEmbedding = defineEntity({
  name: 'KnowledgeEmbedding',
  tableName: 'knowledge_embeddings',
  uniques: [{ name: 'knowledge_embeddings_file_index_unique', properties: ['file', 'index'] }],
  indexes: [
    { properties: ['index'] },
    {
      name: 'knowledge_embeddings_pending_index',
      expression: `create index "knowledge_embeddings_pending_index" on "knowledge_embeddings" ("id") where state = 'pending'`,
    },
  ],
  properties: {
    id,
    file: () => p.manyToOne(KnowledgeFile).deleteRule('cascade').ref(),
    index: () => p.manyToOne(KnowledgeIndex).deleteRule('cascade').ref(),
    state: p.enum(knowledgeEmbeddingStates).default('pending'),
    /** Passages that have a vector: those before this ordinal. */
    embedded: p.integer().default(0),
    /** True if the installation pays, since it has exchanged the model; else the owner of the file does. */
    byHouse: p.boolean().default(false),
    /** Failed tries since the last vector. */
    attempts: p.integer().default(0),
    delay: p.enum(knowledgeDelays).nullable(),
    /** The first of these tries. */
    delayedSince: moment().nullable(),
  },
})

/** The vector of a passage. */
export const KnowledgeVector = defineEntity({
  name: 'KnowledgeVector',
  tableName: 'knowledge_vectors',
  properties: {
    embedding: () => p.manyToOne(KnowledgeEmbedding).primary().deleteRule('cascade').ref(),
    /** The passage of the file. */
    ordinal: p.integer().primary(),
    /** The vector in bytes with its scale, encrypted with a key derived from that of the file. */
    sealed: p.blob().hidden(),
  },
})
