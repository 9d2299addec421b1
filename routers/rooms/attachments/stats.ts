import { countFiles, type FileCount, largestOwners } from '../../../entities/rooms/attachment-upkeep.sql.ts'
import type { Services } from '../../core/services.ts'

const MAX_OWNERS = 10

/** How many files there are, and how large they are: in all, by kind, by the state of their text, and by who has most. */
export async function fileStats({ sql }: Pick<Services, 'sql'>) {
  const groups = await sql(countFiles)
  const by = <Name extends 'kind' | 'textState' | 'linked'>(name: Name) =>
    [...Map.groupBy(groups, (group) => group[name])].map(([value, all]) => ({ [name]: value, ...sumOf(all) }))
  return {
    ...sumOf(groups),
    kinds: by('kind'),
    textStates: by('textState'),
    linked: by('linked'),
    owners: await sql(largestOwners, [MAX_OWNERS]),
  }
}

const sumOf = (counts: readonly FileCount[]): FileCount => ({
  files: counts.reduce((sum, { files }) => sum + files, 0),
  bytes: counts.reduce((sum, { bytes }) => sum + bytes, 0),
})
