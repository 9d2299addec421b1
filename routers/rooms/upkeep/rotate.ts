import { filesById, replaceSealedKeys } from '../../../entities/rooms/attachment-upkeep.sql.ts'
import type { Services } from '../../core/services.ts'
import { listPictures } from '../../identity/pictures/picture-files.ts'
import { FILE_KEY } from '../../ports/vault.ts'
import { rotateUserdata } from './rotate-userdata.ts'
import type { Rotation } from './rotation.ts'
import { sealAnew } from './seal-anew.ts'

const BATCH = 1000

/**
 * Seals the keys of all files and pictures with the current application key, and what front-end migrations keep for people; what
 * the keys encrypt stays as it is.
 */
export async function rotateKeys(services: Pick<Services, 'sql' | 'storage' | 'vault'>): Promise<Rotation> {
  const rotation: Rotation = { attachments: 0, pictures: 0, migrationData: 0, renewed: 0, unknown: 0, unreadable: 0 }
  await rotateAttachments(services, rotation)
  await rotatePictures(services, rotation)
  await rotateUserdata(services, rotation)
  return rotation
}

async function rotateAttachments({ sql, vault }: Pick<Services, 'sql' | 'vault'>, rotation: Rotation): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await sql(filesById, [after, BATCH])
    const sealed = rows.map(({ id, sealedKey }) => ({ id, sealed: sealedKey }))
    const { changed, unknown } = sealAnew(vault, FILE_KEY, sealed)
    if (changed.length > 0) {
      const values = [changed.map(({ id }) => id), changed.map(({ sealed }) => sealed), changed.map(({ anew }) => anew)]
      rotation.renewed += (await sql(replaceSealedKeys, values)).length
    }
    rotation.attachments += rows.length
    rotation.unknown += unknown
    if (rows.length < BATCH) return
    after = rows.at(-1)?.id ?? 0
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
