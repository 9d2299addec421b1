import { type PictureRow, picturesByKey, picturesStillThere } from '../../../entities/identity/picture.sql.ts'
import type { Services } from '../../core/services.ts'
import { listPictures, smallOf } from '../../identity/pictures/picture-files.ts'
import type { Compared, ListedFile } from './compare.ts'
import { inBatches } from './in-batches.ts'

type Parts = Pick<Services, 'sql' | 'storage'>

/** People and rooms, and the files of their pictures. */
export const comparedPictures = (parts: Parts): Compared<PictureRow> => ({
  rows: inBatches((after, limit) => parts.sql(picturesByKey, [after, limit]), ''),
  files: listed(parts),
  ownerOf: ({ table, id }) => `${table}/${id}`,

  /** A picture that was stored before there were sizes has no small one. */
  async examine({ name }) {
    const fault = await parts.storage.check(name)
    if (fault) return fault
    const ofSmall = await parts.storage.check(smallOf(name))
    return ofSmall === 'no-file' ? undefined : ofSmall
  },

  stillThere: (rows) => parts.sql(picturesStillThere, [rows.map(({ name }) => name)]),
})

async function* listed({ storage }: Parts): AsyncGenerator<ListedFile, void> {
  for await (const { name, files } of listPictures(storage)) {
    const newest = Math.max(...files.map(({ modifiedAt }) => modifiedAt.getTime()))
    yield {
      name,
      count: files.length,
      modifiedAt: new Date(newest),
      isWhole: files.some(({ key }) => key === name),
    }
  }
}
