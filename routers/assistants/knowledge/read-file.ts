import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import {
  beginReading,
  countRareWords,
  deleteEarlierVersions,
  failReading,
  finishReading,
  insertPassages,
  insertTerms,
  type KnowledgeFailure,
  listWords,
  lockKnowledgeOfFile,
  raiseVersion,
  sumPassages,
  type UnreadFile,
} from '../../../entities/assistants/knowledge.sql.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { cooperativeIterable } from '../../core/load/cooperative-iterable.ts'
import { runForOneRow, runStatement } from '../../core/run-statement.ts'
import { estimateTokens } from '../../ports/ai/token-estimate.ts'
import type { ExtractedText } from '../../ports/files/text-extractor.ts'
import type { WordCounts } from '../../ports/knowledge-indexes.ts'
import { planEmbeddings } from './embed-file.ts'
import { cutPassages, type Passage, readPassage } from './passages.ts'
import { derivePartKey, passageName, sealPart, TERMS } from './sealed-parts.ts'
import { buildSearchedText } from './searched-text.ts'

/** Passages of one knowledge: as many as an index has that fits into `KNOWLEDGE_MEMORY` by default. */
const MAX_PASSAGES = 20_000

/** Passages of all knowledge of one person. Files that are read at the same moment may exceed it together. */
const MAX_PASSAGES_PER_PERSON = 100_000

/** Reads a file and makes it searchable; does nothing if it was cancelled, deleted or read before. */
export async function readFile(ctx: Context, fileId: number): Promise<void> {
  const { sql, files } = ctx.services
  const [file] = await sql(beginReading, [fileId])
  if (!file) return
  const { uuid: name, mime, bytes, sealedKey, path } = file
  const open = () => files.knowledge.read({ name, bytes, sealedKey })
  const extracted = await files.textExtractor.extract({ mime, bytes, name: path, open }, ctx.signal())
  if ('unreadable' in extracted) return failFile(ctx, fileId, extracted.unreadable)
  const passages = await sealPassages(ctx, file, extracted)
  if (passages.length === 0) return failFile(ctx, fileId, 'no-text', extracted)
  await storePassages(ctx, { fileId, file, extracted, passages })
}

interface SealedPassage extends Passage {
  /** The text with what stands above it. */
  searched: string
  sealed: Buffer
}

/** Cuts a text and encrypts its passages. A text of the largest length would hold the event loop for a second. */
async function sealPassages(ctx: Context, file: UnreadFile, { text, marks }: ExtractedText): Promise<SealedPassage[]> {
  const key = derivePartKey(ctx.services.vault, file)
  const passages: SealedPassage[] = []
  for await (const passage of cooperativeIterable(cutPassages(text, marks))) {
    const content = { text: readPassage(text, passage), headings: passage.headings }
    const sealed = sealPart(key, passageName(passages.length), JSON.stringify(content))
    passages.push({ ...passage, searched: buildSearchedText(file.path, content), sealed })
  }
  return passages
}

/** Marks a file as not searchable; the version before it stays. */
export async function failFile(
  { services }: Pick<Context, 'services'>,
  fileId: number,
  failure: KnowledgeFailure,
  extracted?: ExtractedText,
): Promise<void> {
  const { marks = [], notes = [] } = extracted ?? {}
  await services.sql(failReading, [fileId, failure, countPages(marks), JSON.stringify(notes)])
}

const countPages = (marks: ExtractedText['marks']): number | null =>
  marks.filter(({ kind }) => kind === 'page').length || null

interface ReadFile {
  fileId: number
  file: UnreadFile
  extracted: ExtractedText
  passages: readonly SealedPassage[]
}

/** Passages in one statement. */
const BATCH_SIZE = 200

async function storePassages(ctx: Context, { fileId, file, extracted, passages }: ReadFile): Promise<void> {
  const { text, marks, truncated, notes } = extracted
  const language = await findLanguage(ctx, text)
  const searched = passages.map((passage) => passage.searched)
  const terms = await promisify(deflateRaw)(await countWords(ctx, language, searched))
  const sealedTerms = sealPart(derivePartKey(ctx.services.vault, file), TERMS, terms)
  const tokens = Math.ceil(searched.reduce((sum, one) => sum + estimateTokens(one), 0))
  ctx.signal().throwIfAborted()
  const isFull = await withChangeLog(ctx, async (em, changes) => {
    const [found] = await runStatement(em, lockKnowledgeOfFile, [fileId])
    // The file was cancelled or deleted meanwhile.
    if (!found) return false
    const { knowledgeId, path } = found
    const others = await runForOneRow(em, sumPassages, [knowledgeId, path])
    if (others.passages + passages.length > MAX_PASSAGES) return true
    if (others.ofOwner + passages.length > MAX_PASSAGES_PER_PERSON) return true
    const earlier = await runStatement(em, deleteEarlierVersions, [knowledgeId, path, fileId])
    changes.dropFiles(
      earlier.map(({ uuid }) => uuid),
      'knowledge',
    )
    const facts = [language, countPages(marks), passages.length, truncated, JSON.stringify(notes), tokens]
    await runStatement(em, finishReading, [fileId, ...facts])
    await runStatement(em, insertTerms, [fileId, sealedTerms])
    for (let at = 0; at < passages.length; at += BATCH_SIZE) {
      const batch = passages.slice(at, at + BATCH_SIZE)
      await runStatement(em, insertPassages, [
        fileId,
        batch.map((_, index) => at + index),
        batch.map(({ from }) => from),
        batch.map(({ to }) => to),
        batch.map(({ page }) => page),
        batch.map(({ sealed }) => sealed),
      ])
    }
    await runStatement(em, raiseVersion, [knowledgeId])
    await planEmbeddings(ctx, em, fileId)
    return false
  })
  if (isFull) await failFile(ctx, fileId, 'full', extracted)
}

/** Text search configurations of PostgreSQL that know the frequent words of a language. The first one knows none. */
const NO_LANGUAGE = 'simple'
const languages = [
  NO_LANGUAGE,
  ...['english', 'german', 'french', 'italian', 'spanish', 'portuguese', 'dutch', 'danish', 'norwegian', 'swedish'],
  ...['finnish', 'hungarian', 'russian', 'turkish'],
]

/** Characters whose words decide on the language of a text. */
const SAMPLE = 20_000

/** A language is taken if so many of the words of a text are its frequent ones. */
const MIN_FREQUENT_SHARE = 0.12

/** Finds the language of a text, as the text search configuration that drops most of its words as too frequent. */
async function findLanguage({ services }: Context, text: string): Promise<string> {
  const counts = await services.sql(countRareWords, [text.slice(0, SAMPLE).toWellFormed(), languages])
  const all = counts.find(({ language }) => language === NO_LANGUAGE)?.words ?? 0
  const [best] = counts.toSorted((a, b) => a.words - b.words)
  return best && best.words <= all * (1 - MIN_FREQUENT_SHARE) ? best.language : NO_LANGUAGE
}

/** Counts the words of passages, with what stands above them; returns `WordCounts` of each as JSON. */
async function countWords({ services }: Context, language: string, texts: readonly string[]): Promise<string> {
  const counts: string[] = []
  for (let at = 0; at < texts.length; at += BATCH_SIZE) {
    const rows = await services.sql(listWords, [language, texts.slice(at, at + BATCH_SIZE)])
    for (const { words, counts: uses } of rows) {
      const passage: WordCounts = words.flatMap((word, index) => [word, uses[index] ?? 1])
      counts.push(JSON.stringify(passage))
    }
  }
  return `[${counts.join(',')}]`
}
