import { countFiles, type FileCount, largestOwners } from '../../../entities/rooms/attachment-upkeep.sql.ts'
import { countPictures } from '../../../entities/views/picture.sql.ts'
import type { Services } from '../../core/services.ts'
import { listPictures } from '../../identity/pictures/picture-files.ts'

const MAX_OWNERS = 10

/**
 * How many attachments there are, and how large they are: in all, by kind, by the state of their text, and by who has most.
 * Beside them how many people and rooms have a picture, and what is stored of pictures.
 */
export async function fileStats({ sql, storage }: Pick<Services, 'sql' | 'storage'>) {
  const groups = await sql(countFiles)
  const by = <Name extends 'kind' | 'textState' | 'linked'>(name: Name) =>
    [...Map.groupBy(groups, (group) => group[name])].map(([value, all]) => ({ [name]: value, ...sumCounts(all) }))
  const [withPicture] = await sql(countPictures)
  return {
    ...sumCounts(groups),
    kinds: by('kind'),
    textStates: by('textState'),
    linked: by('linked'),
    owners: await sql(largestOwners, [MAX_OWNERS]),
    pictures: { ...withPicture, ...(await countStoredPictures({ storage })) },
  }
}

const sumCounts = (counts: readonly FileCount[]): FileCount => ({
  files: counts.reduce((sum, { files }) => sum + files, 0),
  bytes: counts.reduce((sum, { bytes }) => sum + bytes, 0),
})

/** The files of pictures, as large as they are stored. */
async function countStoredPictures({ storage }: Pick<Services, 'storage'>): Promise<FileCount> {
  const sum = { files: 0, bytes: 0 }
  for await (const { files } of listPictures(storage)) {
    sum.files += files.length
    for (const { bytes } of files) sum.bytes += bytes
  }
  return sum
}
