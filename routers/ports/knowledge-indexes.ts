/** Words of a passage or a question with their numbers: word, number, word, number. */
export type WordCounts = (string | number)[]

/** The words of all passages of a file, sealed. */
export interface SealedTerms {
  fileId: number
  /** The text search configuration of its language. */
  language: string
  /** Opens the words. */
  key: Uint8Array
  sealed: Uint8Array
}

/** The words of a question in a language. */
export interface QueryTerms {
  language: string
  words: WordCounts
}

/** Largest number of dimensions of a vector. */
export const MAX_DIMENSIONS = 8192

/** Sealed vectors of passages of a file. */
export interface SealedVectors {
  fileId: number
  /** The index of vectors to which they belong. */
  indexId: number
  /** Opens the vectors. */
  key: Uint8Array
  /** The passages, and beside each its vector. */
  ordinals: readonly number[]
  sealed: readonly Uint8Array[]
}

/** The part of a search that goes by meaning. */
export interface VectorQuery {
  indexId: number
  /** The vector of the question. */
  embedding: readonly number[]
  /** Weight of the ranking by words beside that by vectors, which has 1. */
  wordsWeight: number
  /** Reads all vectors of the knowledge, if there is no index with them. */
  load(): AsyncIterable<readonly SealedVectors[]>
  /** Reads the vectors of passages, which are then ranked exactly. */
  find(passages: readonly PassageName[]): Promise<readonly SealedVectors[]>
}

export interface IndexQuery {
  knowledgeId: number
  /** An index of an older version is not used. */
  version: number
  /** The only file whose passages are ranked; all if absent. */
  fileId?: number | undefined
  terms: readonly QueryTerms[]
  /** Largest number of passages. */
  limit: number
  /** Absent for a search by words alone. */
  vectors?: VectorQuery | undefined
  /** Reads the words of all files, if there is no index of this version. */
  load(): AsyncIterable<readonly SealedTerms[]>
  /** Is told the ids of files that are left out, since their words cannot be opened. */
  reportUnreadable(fileIds: readonly number[]): void
  /** Ends the search while it waits for an index or makes one. */
  signal: AbortSignal
}

export interface PassageName {
  fileId: number
  ordinal: number
}

export interface RankedPassage extends PassageName {
  /** Higher is better; comparable within a search only. */
  score: number
}

/** Indexes of knowledge, which are made in memory when they are needed, beside the event loop. */
export interface KnowledgeIndexes {
  /**
   * Ranks passages, the best first. By words alone, a passage that has no word of the question is left out. Refuses with `busy` if too
   * many searches wait for an index, and with `conflict` if the memory does not hold the index.
   */
  search(query: IndexQuery): Promise<RankedPassage[]>
}
