import { sideBySide } from './side-by-side.ts'
import { GRACE_MS } from './sweep.ts'

/** Findings that are looked at again at a time. */
const BATCH = 1000

export type Finding = 'no-file' | 'no-owner' | 'unknown-key' | 'damaged'

export interface Found {
  finding: Finding
  /** The name of the file. */
  file: string
  /** What the file belongs to, such as `attachments/7`; null where that is nothing. */
  owner: string | null
}

interface Named {
  name: string
}

export interface ListedFile extends Named {
  /** How many stored files that is. */
  count: number
  modifiedAt: Date
  /** Whether enough of it is there to be read. */
  isWhole: boolean
}

/** Rows and the files that they name, both in the order of the names. */
export interface Compared<Row extends Named> {
  rows: AsyncIterable<Row>
  files: AsyncIterable<ListedFile>
  ownerOf(row: Row): string
  /** Reads the file of a row to its end; nothing where it is as it was written. */
  examine(row: Row, isListed: boolean): Promise<Exclude<Finding, 'no-owner'> | undefined>
  /** Selects those that are still there. */
  stillThere(rows: readonly Row[]): Promise<Row[]>
}

export interface Comparison {
  rows: number
  files: number
  /** How many were read to their ends. */
  read: number
}

/** Tells of each row whose file is not there or does not open, and of each file that no row names. */
export async function compare<Row extends Named>(
  compared: Compared<Row>,
  percent: number,
  tell: (found: Found) => void,
): Promise<Comparison> {
  const result: Comparison = { rows: 0, files: 0, read: 0 }
  const suspected: Suspicion<Row>[] = []
  for await (const [row, file] of sideBySide(compared.rows, compared.files)) {
    count(result, row, file)
    if (isOrphan(row, file)) tell({ finding: 'no-owner', file: file.name, owner: null })
    if (!row || isLeftOut(file, percent)) continue
    const finding = await compared.examine(row, file !== undefined)
    if (!finding) result.read += 1
    else if (suspected.push({ row, finding }) === BATCH) await confirm(compared, suspected.splice(0), tell)
  }
  await confirm(compared, suspected, tell)
  return result
}

function count(result: Comparison, row: Named | undefined, file: ListedFile | undefined): void {
  result.rows += Number(row !== undefined)
  result.files += file?.count ?? 0
}

interface Suspicion<Row> {
  row: Row
  finding: Finding
}

/** Leaves out what was deleted, or has another file, since it was looked at. */
async function confirm<Row extends Named>(
  { stillThere, ownerOf }: Compared<Row>,
  suspected: readonly Suspicion<Row>[],
  tell: (found: Found) => void,
): Promise<void> {
  if (suspected.length === 0) return
  const present = new Set((await stillThere(suspected.map(({ row }) => row))).map(ownerOf))
  for (const { row, finding } of suspected)
    if (present.has(ownerOf(row))) tell({ finding, file: row.name, owner: ownerOf(row) })
}

/** A younger one waits for its row, and the sweep for it. */
const isOrphan = (row: Named | undefined, file: ListedFile | undefined): file is ListedFile =>
  row === undefined && file !== undefined && file.modifiedAt.getTime() < Date.now() - GRACE_MS

/** One that may be missing is looked at in any case. */
const isLeftOut = (file: ListedFile | undefined, percent: number) =>
  file?.isWhole === true && Math.random() * 100 >= percent
