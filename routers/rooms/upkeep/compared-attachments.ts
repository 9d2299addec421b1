import { type FileRow, filesByName, stillThere } from '../../../entities/rooms/attachment-upkeep.sql.ts'
import { Problem } from '../../core/problems.ts'
import type { Services } from '../../core/services.ts'
import { FILE_KEY } from '../../ports/vault.ts'
import { attachments } from '../attachments/attachments.ts'
import type { Compared, ListedFile } from './compare.ts'
import { inBatches } from './in-batches.ts'

type Parts = Pick<Services, 'sql' | 'files' | 'vault'>

/** Comes before all others. */
const NO_NAME = '00000000-0000-0000-0000-000000000000'

/** Attachments and the files of messages. */
export const comparedAttachments = (parts: Parts): Compared<FileRow> => ({
  rows: inBatches((after, limit) => parts.sql(filesByName, [after, limit]), NO_NAME),
  files: listed(parts),
  ownerOf: ({ id }) => `${attachments.type}/${id}`,

  async examine(row, isListed) {
    if (!hasKnownKey(parts, row)) return 'unknown-key'
    if (await opens(parts, row)) return undefined
    return isListed ? 'damaged' : 'no-file'
  },

  async stillThere(rows) {
    const found = await parts.sql(stillThere, [rows.map(({ id }) => id)])
    const ids = new Set(found.map(({ id }) => id))
    return rows.filter(({ id }) => ids.has(id))
  },
})

async function* listed({ files }: Parts): AsyncGenerator<ListedFile, void> {
  for await (const { name, modifiedAt } of files.list()) yield { name, modifiedAt, count: 1, isWhole: true }
}

function hasKnownKey({ vault }: Parts, { sealedKey }: FileRow): boolean {
  try {
    vault.open(sealedKey, FILE_KEY)
    return true
  } catch {
    return false
  }
}

async function opens({ files }: Parts, { name, bytes, sealedKey }: FileRow): Promise<boolean> {
  try {
    for await (const _ of files.read({ name, bytes, sealedKey }));
    return true
  } catch (error) {
    // That nobody can be asked says nothing of the file.
    if (error instanceof Problem) throw error
    return false
  }
}
