import type { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { filesForPrompt } from '../../../entities/rooms/attachment.sql.ts'
import { textById } from '../../../entities/rooms/attachment-text.ts'
import type { Viewer } from '../../../entities/sql/scope.ts'
import { countPdfPages } from '../../ai/request/pdf-pages.ts'
import { maxEntries } from '../../core/load/cache-size.ts'
import { Problem } from '../../core/problems.ts'
import type { Services } from '../../core/services.ts'
import type { PromptFile, PromptFiles } from '../../ports/ai/prompt-files.ts'
import type { FileStore } from '../../ports/files/file-store.ts'
import { openText } from './sealed-text.ts'

interface Stores extends Pick<Services, 'sql' | 'vault'> {
  attachments: FileStore
}

const MAX_ID = 2_147_483_647

/** Documents whose page count is cached: conversations send the same documents again and again. */
const MAX_CACHED_COUNTS = 10_000

/** Reads attachments for the prompts of models. */
export const createPromptFiles = (stores: Stores, pageCounts = new PageCounts()): PromptFiles => ({
  find(viewer, names) {
    const ids = names.filter((name) => /^\d+$/.test(name)).map(Number)
    const uuids = names.filter((name) => name.includes('-'))
    const values = { ...viewer, ids: ids.filter((id) => id <= MAX_ID), filters: { uuids } }
    return stores.sql(filesForPrompt.statement, filesForPrompt.values(values))
  },

  toStoredBytes({ uuid: name, bytes, sealedKey }) {
    const open = () => stores.attachments.read({ name, bytes, sealedKey })
    return { bytes, open, pages: () => pageCounts.get(name, open) }
  },

  async *readTexts(viewer, files) {
    const texts = await readTexts(stores, viewer, files)
    for (const file of files) {
      const sealed = texts.get(file.uuid)
      if (!sealed) throw new Problem('not_found')
      yield { file, text: await openText(stores.vault, file, sealed) }
    }
  },
})

/** A cache of page counts by the names of stored files, which never change. */
class PageCounts {
  readonly #counts = new LRUCache<string, { pages: number | undefined }>(maxEntries(MAX_CACHED_COUNTS))

  async get(name: string, open: () => Readable): Promise<number | undefined> {
    const count = this.#counts.get(name) ?? { pages: await countPdfPages(open()) }
    this.#counts.set(name, count)
    return count.pages
  }
}

/** Reads the sealed texts of files, by their uuids. */
async function readTexts({ sql }: Stores, viewer: Viewer, files: readonly PromptFile[]): Promise<Map<string, Buffer>> {
  if (files.length === 0) return new Map()
  const ids = files.map(({ id }) => id)
  const rows = await sql(textById.statement, textById.values({ ...viewer, ids }))
  return new Map(rows.map(({ uuid, sealed }) => [uuid, sealed]))
}
