import {
  findExistingKnowledgeFiles,
  listKnowledgeFilesByName,
} from '../../../entities/assistants/knowledge-maintenance.sql.ts'
import { type FileRow, findExistingFiles, listFilesByName } from '../../../entities/rooms/attachment-maintenance.sql.ts'
import { findExistingLinks, listCopiesByName } from '../../../entities/rooms/shared-link.sql.ts'
import type { Statement } from '../../../entities/sql/statement.ts'
import { findExistingPictures, listPicturesByKey, type PictureRow } from '../../../entities/views/picture.sql.ts'
import { Problem } from '../../core/problems.ts'
import type { Services } from '../../core/services.ts'
import { listPictures, toSmallKey } from '../../identity/pictures/picture-files.ts'
import type { FileStore } from '../../ports/files/file-store.ts'
import { FILE_KEY } from '../../ports/vault.ts'
import { attachments } from './attachments.ts'
import { GRACE_MS } from './cleanup.ts'

/** The largest number of listed findings; all of them are counted. */
const MAX_LISTED = 1000

export interface Verification extends Record<Finding, number> {
  attachments: number
  /** Number of files of knowledge. */
  knowledge: number
  /** Number of copies that links lead to. */
  sharedCopies: number
  /** Number of pictures of people and rooms. */
  pictures: number
  files: number
  /** Number of attachments, files of knowledge, shared copies and pictures that were read completely. */
  read: number
  /** The findings, up to 1,000. */
  listed: StorageFinding[]
}

/** Compares attachments, files of knowledge, shared copies and pictures with the stored files, and reads the given percentage of them completely. */
export async function verifyFiles(
  services: Pick<Services, 'sql' | 'files' | 'vault'>,
  percent: number,
): Promise<Verification> {
  const counts = { 'no-file': 0, 'no-owner': 0, 'unknown-key': 0, damaged: 0 }
  const findings: StorageFinding[] = []
  const report = (one: StorageFinding) => {
    counts[one.finding]++
    if (findings.length < MAX_LISTED) findings.push(one)
  }
  const attachments = await compareStored(createFileSet(services, attachmentFiles), percent, report)
  const knowledge = await compareStored(createFileSet(services, knowledgeFiles), percent, report)
  const sharedCopies = await compareStored(createFileSet(services, sharedCopyFiles), percent, report)
  const pictures = await compareStored(createPictureSet(services), percent, report)
  return {
    attachments: attachments.rows,
    knowledge: knowledge.rows,
    sharedCopies: sharedCopies.rows,
    pictures: pictures.rows,
    files: attachments.files + knowledge.files + sharedCopies.files + pictures.files,
    read: attachments.read + knowledge.read + sharedCopies.read + pictures.read,
    ...counts,
    listed: findings,
  }
}

/** Findings that are checked again at a time. */
const CONFIRM_BATCH_SIZE = 1000

type Finding = 'no-file' | 'no-owner' | 'unknown-key' | 'damaged'

interface StorageFinding {
  finding: Finding
  /** The name of the file. */
  file: string
  /** The owner of the file, such as `attachments/7`; null if there is none. */
  owner: string | null
}

interface NamedItem {
  name: string
}

interface ListedFile extends NamedItem {
  /** Number of stored files. */
  count: number
  modifiedAt: Date
  /** True if enough files exist to read it. */
  isWhole: boolean
}

/** Rows and the files that they name, both sorted by name. */
interface StoredSet<Row extends NamedItem> {
  rows: AsyncIterable<Row>
  files: AsyncIterable<ListedFile>
  ownerOf(row: Row): string
  /** Reads the file of a row completely; returns undefined if it is intact. */
  examine(row: Row, isListed: boolean): Promise<Exclude<Finding, 'no-owner'> | undefined>
  /** Selects the rows that still exist. */
  stillThere(rows: readonly Row[]): Promise<Row[]>
}

export interface Comparison {
  rows: number
  files: number
  /** Number of files that were read completely. */
  read: number
}

/** Reports each row whose file is missing or damaged, and each file without a row. */
async function compareStored<Row extends NamedItem>(
  set: StoredSet<Row>,
  percent: number,
  report: (found: StorageFinding) => void,
): Promise<Comparison> {
  const result: Comparison = { rows: 0, files: 0, read: 0 }
  const suspected: SuspectedFinding<Row>[] = []
  for await (const [row, file] of mergeByName(set.rows, set.files)) {
    countPair(result, row, file)
    if (isOrphan(row, file)) report({ finding: 'no-owner', file: file.name, owner: null })
    if (!row || isSkipped(file, percent)) continue
    const finding = await set.examine(row, file !== undefined)
    if (!finding) result.read += 1
    else if (suspected.push({ row, finding }) === CONFIRM_BATCH_SIZE)
      await confirmFindings(set, suspected.splice(0), report)
  }
  await confirmFindings(set, suspected, report)
  return result
}

function countPair(result: Comparison, row: NamedItem | undefined, file: ListedFile | undefined): void {
  result.rows += Number(row !== undefined)
  result.files += file?.count ?? 0
}

interface SuspectedFinding<Row> {
  row: Row
  finding: Finding
}

/** Reports the findings, except those whose row was deleted or has another file by now. */
async function confirmFindings<Row extends NamedItem>(
  { stillThere, ownerOf }: StoredSet<Row>,
  suspected: readonly SuspectedFinding<Row>[],
  report: (found: StorageFinding) => void,
): Promise<void> {
  if (suspected.length === 0) return
  const present = new Set((await stillThere(suspected.map(({ row }) => row))).map(ownerOf))
  for (const { row, finding } of suspected)
    if (present.has(ownerOf(row))) report({ finding, file: row.name, owner: ownerOf(row) })
}

/** Returns true for a file without a row; a young one may still get its row, or be cleaned up. */
const isOrphan = (row: NamedItem | undefined, file: ListedFile | undefined): file is ListedFile =>
  row === undefined && file !== undefined && file.modifiedAt.getTime() < Date.now() - GRACE_MS

/** Skips files outside the sample; a file that may be missing is always examined. */
const isSkipped = (file: ListedFile | undefined, percent: number) =>
  file?.isWhole === true && Math.random() * 100 >= percent

/** Merges two series that are sorted by name into pairs; one side is undefined if only the other has the name. */
async function* mergeByName<A extends NamedItem, B extends NamedItem>(
  left: AsyncIterable<A>,
  right: AsyncIterable<B>,
): AsyncGenerator<[A | undefined, B | undefined], void> {
  const [lefts, rights] = [left[Symbol.asyncIterator](), right[Symbol.asyncIterator]()]
  let [a, b] = [await readNext(lefts), await readNext(rights)]
  while (a ?? b) {
    const name = findFirstName(a, b)
    const pair: [A | undefined, B | undefined] = [matchName(a, name), matchName(b, name)]
    yield pair
    if (pair[0]) a = await readNext(lefts)
    if (pair[1]) b = await readNext(rights)
  }
}

const findFirstName = (...items: (NamedItem | undefined)[]) => items.flatMap((item) => item?.name ?? []).sort()[0]

const matchName = <T extends NamedItem>(item: T | undefined, name: string | undefined) =>
  item?.name === name ? item : undefined

async function readNext<T>(items: AsyncIterator<T>): Promise<T | undefined> {
  const { done, value } = await items.next()
  return done ? undefined : value
}

type FileSetServices = Pick<Services, 'sql' | 'files' | 'vault'>

/** Sorts before all other names. */
const NO_NAME = '00000000-0000-0000-0000-000000000000'

/** A file store, and the statements over the rows that name its files. */
interface FileSource {
  store: 'attachments' | 'knowledge' | 'sharedCopies'
  type: string
  list: Statement<FileRow>
  find: Statement<{ id: number }>
}

const attachmentFiles: FileSource = {
  store: 'attachments',
  type: attachments.type,
  list: listFilesByName,
  find: findExistingFiles,
}

const knowledgeFiles: FileSource = {
  store: 'knowledge',
  type: 'knowledge-files',
  list: listKnowledgeFilesByName,
  find: findExistingKnowledgeFiles,
}

const sharedCopyFiles: FileSource = {
  store: 'sharedCopies',
  type: 'shared-links',
  list: listCopiesByName,
  find: findExistingLinks,
}

/** Creates the set of the rows of a store and their files. */
const createFileSet = (services: FileSetServices, { store, type, list, find }: FileSource): StoredSet<FileRow> => ({
  rows: readInNameOrder((after, limit) => services.sql(list, [after, limit]), NO_NAME),
  files: listStoredFiles(services.files[store]),
  ownerOf: ({ id }) => `${type}/${id}`,

  async examine(row, isListed) {
    if (!hasKnownKey(services, row)) return 'unknown-key'
    if (await canReadFile(services.files[store], row)) return undefined
    return isListed ? 'damaged' : 'no-file'
  },

  async stillThere(rows) {
    const found = await services.sql(find, [rows.map(({ id }) => id)])
    const ids = new Set(found.map(({ id }) => id))
    return rows.filter(({ id }) => ids.has(id))
  },
})

async function* listStoredFiles(files: FileStore): AsyncGenerator<ListedFile, void> {
  for await (const { name, modifiedAt } of files.list()) yield { name, modifiedAt, count: 1, isWhole: true }
}

function hasKnownKey({ vault }: FileSetServices, { sealedKey }: FileRow): boolean {
  try {
    vault.open(sealedKey, FILE_KEY)
    return true
  } catch {
    return false
  }
}

async function canReadFile(files: FileStore, { name, bytes, sealedKey }: FileRow): Promise<boolean> {
  try {
    for await (const _ of files.read({ name, bytes, sealedKey }));
    return true
  } catch (error) {
    // An unreachable store says nothing about the file.
    if (error instanceof Problem) throw error
    return false
  }
}

type PictureServices = Pick<Services, 'sql' | 'files'>

/** Creates the set of people and rooms with their picture files. */
const createPictureSet = (services: PictureServices): StoredSet<PictureRow> => ({
  rows: readInNameOrder((after, limit) => services.sql(listPicturesByKey, [after, limit]), ''),
  files: listPictureFiles(services),
  ownerOf: ({ table, id }) => `${table}/${id}`,

  /** A picture from before there were sizes has no small one. */
  async examine({ name }) {
    const fault = await services.files.storage.check(name)
    if (fault) return fault
    const smallFault = await services.files.storage.check(toSmallKey(name))
    return smallFault === 'no-file' ? undefined : smallFault
  },

  stillThere: (rows) => services.sql(findExistingPictures, [rows.map(({ name }) => name)]),
})

async function* listPictureFiles({ files: { storage } }: PictureServices): AsyncGenerator<ListedFile, void> {
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

const ROW_BATCH_SIZE = 1000

/** Reads rows in batches, each behind the last name of the one before. */
async function* readInNameOrder<Row extends { name: string }>(
  read: (after: string, limit: number) => Promise<Row[]>,
  first: string,
): AsyncGenerator<Row, void> {
  for (let after = first; ; ) {
    const rows = await read(after, ROW_BATCH_SIZE)
    yield* rows
    if (rows.length < ROW_BATCH_SIZE) return
    after = rows.at(-1)?.name ?? ''
  }
}
