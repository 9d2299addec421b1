import {
  type AssistantKnowledge,
  findReadableFile,
  listFileContent,
  listReadableFiles,
} from '../../../entities/assistants/assistant-knowledge.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { estimateTokens } from '../../ports/ai/token-estimate.ts'
import { ToolFailure } from '../../ports/ai/tool-servers.ts'
import type { CitedPassages, ReadPassage } from './cited-passages.ts'
import type { KnowledgeDisclosure } from './disclosure.ts'
import { openPassage } from './sealed-parts.ts'
import { searchKnowledge } from './search.ts'

/** The most that one search or one reading of a file gives. */
const MAX_PASSAGES = 8
export const MAX_READ_TOKENS = 3000

/** Searches for one answer, as each may cost an embedding. */
const MAX_SEARCHES = 30

/** Passages of a file that are read at once. */
const READ_BATCH = 50

/** Files on a page of the list. */
const PAGE_SIZE = 50

const NO_MORE = 'No more can be read for this answer. Answer with what you have.'

interface ReaderOptions {
  /** The person who asks. */
  person: number
  /** The tokens that all readings of an answer take together. */
  room: number
  passages: CitedPassages
  /** Present in a room. */
  disclosure: KnowledgeDisclosure | undefined
  /** Finds the knowledge, if the person may still use it. */
  find(): Promise<AssistantKnowledge | undefined>
}

/** Reads the knowledge of an assistant for one answer, as long as the person may use it and the model has room. */
export class KnowledgeReader {
  readonly #ctx: Context
  readonly #options: ReaderOptions
  #room: number
  #searches = 0

  constructor(ctx: Context, options: ReaderOptions) {
    this.#ctx = ctx
    this.#options = options
    this.#room = options.room
  }

  /** Finds the best passages for a question, in one file if its path is given. */
  search(query: string, path?: string): Promise<string | ToolFailure> {
    return this.#withKnowledge(async ({ id, ownerId }) => {
      if (++this.#searches > MAX_SEARCHES) return new ToolFailure(NO_MORE)
      const [file] = path === undefined ? [] : await this.#ctx.services.sql(findReadableFile, [id, path])
      if (path !== undefined && !file) return new ToolFailure('There is no such file.')
      const hits = await searchKnowledge(this.#ctx, {
        asker: this.#options.person,
        owner: ownerId,
        knowledgeId: id,
        fileId: file?.id,
        query,
        limit: MAX_PASSAGES,
        disclosure: this.#options.disclosure,
      })
      const found = hits.map(({ file: { id: file, path }, score: _, ...passage }) => ({ ...passage, file, path }))
      const { text } = await this.#write(found)
      return text || 'Nothing was found.'
    })
  }

  /** Reads a file from an offset on. */
  read(path: string, from: number): Promise<string | ToolFailure> {
    return this.#withKnowledge(async ({ id }) => {
      const { sql, vault } = this.#ctx.services
      const rows = await sql(listFileContent, [id, path, from, READ_BATCH])
      if (rows.length === 0) return new ToolFailure('There is no such file, or it ends before.')
      const { text, count } = await this.#write(rows.map((row) => openPassage(vault, row)))
      const next = rows[count]
      return next ? `${text}\n\nThe file goes on from ${next.from}.` : text
    })
  }

  /** Lists a page of the files, with the numbers of their pages and characters. */
  list(page: number): Promise<string | ToolFailure> {
    return this.#withKnowledge(async ({ id }) => {
      const rows = await this.#ctx.services.sql(listReadableFiles, [id, PAGE_SIZE, (page - 1) * PAGE_SIZE])
      const lines = rows.map(
        ({ path, pages, length }) => `${path} (${pages === null ? '' : `${pages} pages, `}${length} characters)`,
      )
      const [first] = rows
      if (!first) return new ToolFailure('There is no such page.')
      const text = `Page ${page} of ${Math.ceil(first.total / PAGE_SIZE)}\n${lines.join('\n')}`
      this.#room -= estimateTokens(text)
      return text
    })
  }

  async #withKnowledge(work: (knowledge: AssistantKnowledge) => Promise<string | ToolFailure>) {
    if (this.#room <= 0) return new ToolFailure(NO_MORE)
    const knowledge = await this.#options.find()
    if (!knowledge) return new ToolFailure('The files may not be used any more.')
    try {
      return await work(knowledge)
    } catch (error) {
      // Models read why a search was refused; everything else is a failure of ours.
      if (error instanceof Problem) return new ToolFailure(error.message)
      throw error
    }
  }

  /** Writes passages as far as there is room. The first one is written in any case. */
  async #write(passages: readonly ReadPassage[]): Promise<{ text: string; count: number }> {
    let room = Math.min(MAX_READ_TOKENS, this.#room)
    const written: string[] = []
    for (const passage of passages.slice(0, MAX_PASSAGES)) {
      const text = writePassage(passage, '000')
      const tokens = estimateTokens(text)
      if (tokens > room && written.length > 0) break
      room -= tokens
      this.#room -= tokens
      written.push(writePassage(passage, `${this.#options.passages.giveNumber(passage)}`))
    }
    if (written.length > 0) await this.#options.disclosure?.beforeReading(this.#options.passages.size)
    return { text: written.join('\n\n'), count: written.length }
  }
}

/**
 * Writes a passage for a model, below its number and its place. Numbers in brackets within the text are put into
 * parentheses, since only the service gives numbers.
 */
export function writePassage({ path, page, headings, text }: ReadPassage, number: string): string {
  const place = [
    path,
    ...(page === null ? [] : [`page ${page}`]),
    ...(headings.length > 0 ? [headings.join(' > ')] : []),
  ]
  return `[${number}] ${withoutNumbers(place.join(', '))}\n${withoutNumbers(text)}`
}

const withoutNumbers = (text: string): string => text.replaceAll(/[[【]([\s^]*\d{1,3}[^\][】\n]{0,80})[\]】]/g, '($1)')
