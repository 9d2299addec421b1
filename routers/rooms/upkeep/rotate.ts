import { type FileRow, filesById, replaceSealedKeys } from '../../../entities/rooms/attachment-upkeep.sql.ts'
import type { Services } from '../../core/services.ts'
import { listPictures } from '../../identity/pictures/picture-files.ts'
import { FILE_KEY, type Vault } from '../../ports/vault.ts'

const BATCH = 1000

interface Rotation {
  attachments: number
  pictures: number
  /** How many keys were sealed anew: one of each attachment, and one of each size of a picture. The others already were. */
  renewed: number
  /** How many keys none of the application keys opens. */
  unknown: number
  /** How many files could not be read, so that their keys stay as they are. */
  unreadable: number
}

/** Seals the keys of all files and pictures with the current application key; what they encrypt stays as it is. */
export async function rotateKeys(services: Pick<Services, 'sql' | 'storage' | 'vault'>): Promise<Rotation> {
  const rotation: Rotation = { attachments: 0, pictures: 0, renewed: 0, unknown: 0, unreadable: 0 }
  await rotateAttachments(services, rotation)
  await rotatePictures(services, rotation)
  return rotation
}

async function rotateAttachments({ sql, vault }: Pick<Services, 'sql' | 'vault'>, rotation: Rotation): Promise<void> {
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
    if (rows.length < BATCH) return
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

/** The key of a picture is stored with it, so each file is written anew. */
async function rotatePictures({ storage }: Pick<Services, 'storage'>, rotation: Rotation): Promise<void> {
  for await (const { files } of listPictures(storage)) {
    rotation.pictures += 1
    for (const { key } of files) {
      const outcome = await storage.renew(key)
      if (outcome !== 'current' && outcome !== 'gone') rotation[outcome] += 1
    }
  }
}
