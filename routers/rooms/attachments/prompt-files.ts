import { buffer } from 'node:stream/consumers'
import { filesForPrompt } from '../../../entities/rooms/attachment.sql.ts'
import { textById } from '../../../entities/rooms/attachment-text.sql.ts'
import type { Viewer } from '../../../entities/sql/scope.ts'
import { Problem } from '../../core/problems.ts'
import type { Services } from '../../core/services.ts'
import type { PromptFiles, WantedFile } from '../../ports/ai/prompt-files.ts'
import { openText } from './sealed-text.ts'

type Stores = Pick<Services, 'sql' | 'files' | 'vault'>

const MAX_ID = 2_147_483_647

/** Attachments as the prompts of models may have them. */
export const promptFiles = (stores: Stores): PromptFiles => ({
  find(viewer, names) {
    const ids = names.filter((name) => /^\d+$/.test(name)).map(Number)
    const uuids = names.filter((name) => name.includes('-'))
    const values = { ...viewer, ids: ids.filter((id) => id <= MAX_ID), filters: { uuids } }
    return stores.sql(filesForPrompt.statement, filesForPrompt.values(values))
  },

  async *contents(viewer, wanted) {
    const texts = await textsOf(stores, viewer, wanted)
    for (const { file, as } of wanted) {
      const { uuid, bytes, sealedKey } = file
      const sealed = texts.get(uuid)
      if (as === 'bytes') yield await buffer(stores.files.read({ name: uuid, bytes, sealedKey }))
      else if (sealed) yield await openText(stores.vault, file, sealed)
      else throw new Problem('not_found')
    }
  },
})

/** The sealed texts of files, by their uuids. */
async function textsOf({ sql }: Stores, viewer: Viewer, wanted: readonly WantedFile[]): Promise<Map<string, Buffer>> {
  const ids = wanted.filter(({ as }) => as === 'text').map(({ file }) => file.id)
  if (ids.length === 0) return new Map()
  const rows = await sql(textById.statement, textById.values({ ...viewer, ids }))
  return new Map(rows.map(({ uuid, sealed }) => [uuid, sealed]))
}
