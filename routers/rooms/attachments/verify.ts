import { type FileRow, filesByName, stillThere } from '../../../entities/rooms/attachment-upkeep.sql.ts'
import { Problem } from '../../core/problems.ts'
import type { Services } from '../../core/services.ts'
import { FILE_KEY } from '../../ports/vault.ts'
import { sideBySide } from './side-by-side.ts'
import { GRACE_MS } from './sweep.ts'

/** Rows that are read, and findings that are looked at again, at a time. */
const BATCH = 1000

/** More than anybody reads. All of them are counted. */
const MAX_LISTED = 1000

type Finding = 'no-file' | 'no-attachment' | 'unknown-key' | 'damaged'

interface Found {
  finding: Finding
  /** The name of the file. */
  file: string
  /** The id of the attachment; null where there is none. */
  attachment: number | null
}

export interface Verification extends Record<Finding, number> {
  attachments: number
  files: number
  /** How many files were read to their ends. */
  read: number
  /** What was found, up to 1,000. */
  listed: Found[]
}

type Parts = Pick<Services, 'sql' | 'files' | 'vault'>

interface ListedFile {
  name: string
  modifiedAt: Date
}

/** Compares attachments and files, both in the order of their names, and reads so many of a hundred files to their ends. */
export async function verifyFiles(parts: Parts, percent: number): Promise<Verification> {
  const result = nothingFound()
  let suspected: Found[] = []
  const settle = async () => {
    for (const found of await confirm(parts, suspected)) note(result, found)
    suspected = []
  }
  for await (const [row, file] of sideBySide(rowsByName(parts), parts.files.list())) {
    result.attachments += Number(row !== undefined)
    result.files += Number(file !== undefined)
    const isRead = row !== undefined && (file === undefined || Math.random() * 100 < percent)
    const found = isRead ? await examine(parts, row, file) : orphaned(row, file)
    result.read += Number(isRead && !found)
    if (found) suspected.push(found)
    if (suspected.length === BATCH) await settle()
  }
  await settle()
  return result
}

const nothingFound = (): Verification => ({
  attachments: 0,
  files: 0,
  read: 0,
  'no-file': 0,
  'no-attachment': 0,
  'unknown-key': 0,
  damaged: 0,
  listed: [],
})

function note(result: Verification, found: Found): void {
  result[found.finding]++
  if (result.listed.length < MAX_LISTED) result.listed.push(found)
}

async function* rowsByName({ sql }: Parts): AsyncGenerator<FileRow & { name: string }, void> {
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const rows = await sql(filesByName, [after, BATCH])
    for (const row of rows) yield { ...row, name: row.uuid }
    if (rows.length < BATCH) return
    after = rows.at(-1)?.uuid ?? ''
  }
}

/** A file without an attachment, once it is old enough for the sweep. */
function orphaned(row: FileRow | undefined, file: ListedFile | undefined): Found | undefined {
  if (row || !file || file.modifiedAt.getTime() > Date.now() - GRACE_MS) return undefined
  return { finding: 'no-attachment', file: file.name, attachment: null }
}

/** What is wrong with a file. One that was not listed may have come since. */
async function examine(parts: Parts, row: FileRow, file: ListedFile | undefined): Promise<Found | undefined> {
  const found = (finding: Finding) => ({ finding, file: row.uuid, attachment: row.id })
  if (!hasKnownKey(parts, row)) return found('unknown-key')
  if (await opens(parts, row)) return undefined
  return found(file ? 'damaged' : 'no-file')
}

function hasKnownKey({ vault }: Parts, { sealedKey }: FileRow): boolean {
  try {
    vault.open(sealedKey, FILE_KEY)
    return true
  } catch {
    return false
  }
}

async function opens({ files }: Parts, { uuid, bytes, sealedKey }: FileRow): Promise<boolean> {
  try {
    for await (const _ of files.read({ name: uuid, bytes, sealedKey }));
    return true
  } catch (error) {
    // That nobody can be asked says nothing of the file.
    if (error instanceof Problem) throw error
    return false
  }
}

/** Leaves out what was deleted while it was looked at. */
async function confirm({ sql }: Parts, suspected: readonly Found[]): Promise<Found[]> {
  const ids = suspected.flatMap(({ attachment }) => attachment ?? [])
  const rows = ids.length > 0 ? await sql(stillThere, [ids]) : []
  const present = new Set(rows.map(({ id }) => id))
  return suspected.filter(({ attachment }) => attachment === null || present.has(attachment))
}
