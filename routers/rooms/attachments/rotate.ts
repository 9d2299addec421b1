import { type FileRow, filesById, replaceSealedKeys } from '../../../entities/rooms/attachment-upkeep.sql.ts'
import type { Services } from '../../core/services.ts'
import { FILE_KEY, type Vault } from '../../ports/vault.ts'

const BATCH = 1000

interface Rotation {
  attachments: number
  /** How many keys were sealed anew. The others already were, or cannot be opened. */
  renewed: number
  /** How many keys none of the application keys opens. */
  unknown: number
}

/** Seals the keys of all files with the current application key; the files stay as they are. */
export async function rotateKeys({ sql, vault }: Pick<Services, 'sql' | 'vault'>): Promise<Rotation> {
  const rotation = { attachments: 0, renewed: 0, unknown: 0 }
  for (let after = 0; ; ) {
    const rows = await sql(filesById, [after, BATCH])
    const opened = rows.flatMap((row) => renew(vault, row) ?? [])
    const changed = opened.filter(({ before, key }) => key !== before)
    if (changed.length > 0) {
      const values = [changed.map(({ id }) => id), changed.map(({ before }) => before), changed.map(({ key }) => key)]
      rotation.renewed += (await sql(replaceSealedKeys, values)).length
    }
    rotation.attachments += rows.length
    rotation.unknown += rows.length - opened.length
    if (rows.length < BATCH) return rotation
    after = rows.at(-1)?.id ?? 0
  }
}

function renew(vault: Vault, { id, sealedKey: before }: FileRow) {
  try {
    vault.open(before, FILE_KEY)
    return { id, before, key: vault.renew(before, FILE_KEY) }
  } catch {
    return undefined
  }
}
