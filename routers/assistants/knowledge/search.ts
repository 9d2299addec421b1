import {
  findPassages,
  findSearchable,
  type KnowledgeContent,
  listQueryWords,
  listTermsAfter,
} from '../../../entities/assistants/knowledge.sql.ts'
import {
  type ActiveIndex,
  type EmbeddedFile,
  findVectors,
  listEmbeddingsAfter,
  listVectorsFrom,
} from '../../../entities/assistants/knowledge-vectors.sql.ts'
import type { Caller } from '../../core/caller.ts'
import type { Context } from '../../core/context.ts'
import type {
  PassageName,
  RankedPassage,
  SealedTerms,
  SealedVectors,
  VectorQuery,
} from '../../ports/knowledge-indexes.ts'
import type { Vault } from '../../ports/vault.ts'
import type { ReadPassage } from './cited-passages.ts'
import type { KnowledgeDisclosure } from './disclosure.ts'
import { embedQuestion } from './embed-question.ts'
import { createUnknownKnowledge } from './own-knowledge.ts'
import { derivePartKey, openPassage } from './sealed-parts.ts'

/** A passage that a search found. */
export interface KnowledgeHit extends Omit<ReadPassage, 'file' | 'path'> {
  file: { id: number; path: string }
  /** Higher is better; comparable within this search only. */
  score: number
}

interface Search {
  /** The person who asks, of whom only a few searches run at once. */
  asker: number
  owner: number
  knowledgeId: number
  /** The only file in which to search; all if absent. */
  fileId?: number | undefined
  query: string
  limit: number
  /** Present in a room. */
  disclosure?: KnowledgeDisclosure | undefined
  /** The person who pays for the vector of the question; the caller if absent. */
  payer?: Caller | undefined
  /** Is called if the question has no vector, though there is an embedding model. */
  reportWordsAlone?: (() => void) | undefined
}

/** Searches all files of a person's own knowledge in one ranking, by any word of the question, and by its meaning if the installation has an embedding model. */
export async function searchKnowledge(ctx: Context, search: Search): Promise<KnowledgeHit[]> {
  const { asker, owner, knowledgeId, fileId, query, limit } = search
  const { sql, knowledge, limits } = ctx.services
  using _turn = await limits.semaphores.search.acquire(`${asker}`, ctx.signal)
  const [found] = await sql(findSearchable, [owner, knowledgeId])
  if (!found) throw createUnknownKnowledge()
  const { version, languages, vectors: index } = found
  if (languages.length === 0) return []
  const [words, embedding] = await Promise.all([
    sql(listQueryWords, [languages, query]),
    index ? embedQuery(ctx, search, index) : undefined,
  ])
  const terms = words.map(({ language, words }) => ({ language, words: words.flatMap((word) => [word, 1]) }))
  if (!embedding && terms.every(({ words }) => words.length === 0)) return []
  const ranked = await knowledge.search({
    knowledgeId,
    version,
    fileId,
    terms,
    limit,
    vectors: index && embedding ? createVectorQuery(ctx, { knowledgeId, indexId: index.id }, embedding) : undefined,
    load: () => readTerms(ctx, knowledgeId),
    reportUnreadable: (fileIds) => logUnreadable(ctx, fileIds),
    signal: ctx.signal(),
  })
  if (ranked.length === 0) return []
  const ids = [ranked.map(({ fileId }) => fileId), ranked.map(({ ordinal }) => ordinal)]
  const passages = await sql(findPassages, [knowledgeId, ...ids])
  const byPlace = new Map(passages.map((passage) => [toPlace(passage), passage]))
  return ranked.flatMap((one) => {
    const passage = byPlace.get(toPlace(one))
    return passage ? openOrLog(ctx, passage, () => toHit(ctx.services.vault, passage, one)) : []
  })
}

/** Returns undefined for a search by words alone. */
async function embedQuery(
  ctx: Context,
  { query, disclosure, payer, reportWordsAlone }: Search,
  index: ActiveIndex,
): Promise<number[] | undefined> {
  const embedding = await embedQuestion(ctx, index, { question: query, disclosure, payer })
  if (!embedding) reportWordsAlone?.()
  return embedding
}

/** A file whose key or bytes are damaged must not end the search of all others. */
function openOrLog<Opened>(ctx: Context, { fileId }: { fileId: number }, open: () => Opened): Opened[] {
  try {
    return [open()]
  } catch {
    logUnreadable(ctx, [fileId])
    return []
  }
}

function logUnreadable({ services }: Context, fileIds: readonly number[]): void {
  services.log.error({ fileIds }, 'files of knowledge could not be opened, so a search leaves them out')
}

const toPlace = ({ fileId, ordinal }: Pick<RankedPassage, 'fileId' | 'ordinal'>) => `${fileId} ${ordinal}`

function toHit(vault: Vault, row: KnowledgeContent, { score }: RankedPassage): KnowledgeHit {
  const { file: id, path, ...passage } = openPassage(vault, row)
  return { ...passage, file: { id, path }, score }
}

/** Files whose words are read at once. */
const BATCH_SIZE = 20

async function* readTerms(ctx: Context, knowledgeId: number): AsyncGenerator<SealedTerms[], void> {
  const { sql, vault } = ctx.services
  for (let after = 0; ; ) {
    const rows = await sql(listTermsAfter, [knowledgeId, after, BATCH_SIZE])
    yield rows.flatMap((row) =>
      openOrLog(ctx, row, () => {
        const { fileId, language, sealed } = row
        return { fileId, language, sealed, key: derivePartKey(vault, row) }
      }),
    )
    if (rows.length < BATCH_SIZE) return
    after = rows.at(-1)?.fileId ?? 0
  }
}

/** Vectors of one file that are read at once. */
const VECTOR_BATCH_SIZE = 2000

interface Vectors {
  knowledgeId: number
  indexId: number
}

async function* readVectors(ctx: Context, { knowledgeId, indexId }: Vectors): AsyncGenerator<SealedVectors[], void> {
  for (let after = 0; ; ) {
    const files = await ctx.services.sql(listEmbeddingsAfter, [knowledgeId, indexId, after, BATCH_SIZE])
    for (const file of files) yield* readVectorsOfFile(ctx, indexId, file)
    if (files.length < BATCH_SIZE) return
    after = files.at(-1)?.fileId ?? 0
  }
}

async function* readVectorsOfFile(
  ctx: Context,
  indexId: number,
  { embeddingId, fileId, sealedKey }: EmbeddedFile,
): AsyncGenerator<SealedVectors[], void> {
  const { sql, vault } = ctx.services
  const [key] = openOrLog(ctx, { fileId }, () => derivePartKey(vault, { sealedKey }))
  for (let from = 0; key; ) {
    const rows = await sql(listVectorsFrom, [embeddingId, from, VECTOR_BATCH_SIZE])
    yield [{ fileId, indexId, key, ...toColumns(rows) }]
    if (rows.length < VECTOR_BATCH_SIZE) return
    from = (rows.at(-1)?.ordinal ?? 0) + 1
  }
}

const toColumns = (rows: readonly { ordinal: number; sealed: Buffer }[]) => ({
  ordinals: rows.map(({ ordinal }) => ordinal),
  sealed: rows.map(({ sealed }) => sealed),
})

function createVectorQuery(ctx: Context, vectors: Vectors, embedding: readonly number[]): VectorQuery {
  const { indexId } = vectors
  const { sql, vault, settings } = ctx.services
  const find = async (passages: readonly PassageName[]) => {
    const places = [passages.map(({ fileId }) => fileId), passages.map(({ ordinal }) => ordinal)]
    const byFile = Map.groupBy(await sql(findVectors, [indexId, ...places]), ({ fileId }) => fileId)
    return [...byFile].flatMap(([fileId, rows]) =>
      openOrLog(ctx, { fileId }, () => {
        const key = derivePartKey(vault, { sealedKey: rows[0]?.sealedKey ?? '' })
        return { fileId, indexId, key, ...toColumns(rows) }
      }),
    )
  }
  return {
    indexId,
    embedding,
    wordsWeight: settings.knowledge.wordsWeight,
    load: () => readVectors(ctx, vectors),
    find,
  }
}
