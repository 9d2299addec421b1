import type { FileType } from '../../../entities/rooms/attachment.ts'
import type { RandomAccessFile } from './random-access-file.ts'
import { detectTextKind } from './text-kind.ts'

/** The container of Office files before 2007, and of later ones with a password. */
const COMPOUND = 'application/x-cfb'
const ENCRYPTED_OFFICE = 'application/x-encrypted-office'

/** Media types by the name of the stream that only they contain. */
const compoundKinds: readonly [stream: string, mime: string][] = [
  ['EncryptedPackage', ENCRYPTED_OFFICE],
  ['WordDocument', 'application/msword'],
  ['Workbook', 'application/vnd.ms-excel'],
  ['Book', 'application/vnd.ms-excel'],
  ['PowerPoint Document', 'application/vnd.ms-powerpoint'],
  ['__properties_version1.0', 'application/vnd.ms-outlook'],
]

const HEADER_BYTES = 512
const MAX_DIRECTORY_SECTORS = 64
const ENTRY_BYTES = 128

/** Detects the media type of a compound file by the stream names in its directory. */
async function detectCompoundKind(file: RandomAccessFile): Promise<string> {
  const names = await readStreamNames(file).catch((error: unknown) => {
    if (file.failure) throw error
    return new Set<string>()
  })
  return compoundKinds.find(([stream]) => names.has(stream))?.[1] ?? COMPOUND
}

async function readStreamNames(file: RandomAccessFile): Promise<Set<string>> {
  const header = await file.read(0, HEADER_BYTES)
  const sectorBytes = 2 ** header.readUInt16LE(30)
  if (sectorBytes !== 512 && sectorBytes !== 4096) return new Set()
  const readSector = (sector: number) => file.read((sector + 1) * sectorBytes, sectorBytes)
  const names = new Set<string>()
  let sector = header.readUInt32LE(48)
  for (let count = 0; count < MAX_DIRECTORY_SECTORS && isSector(sector); count++) {
    const entries = await readSector(sector)
    for (let at = 0; at + ENTRY_BYTES <= entries.length; at += ENTRY_BYTES) names.add(readNameAt(entries, at))
    sector = await nextSector(header, sector, readSector)
  }
  return names
}

const isSector = (sector: number) => sector < 0xffff_fffa

/** Reads a name: UTF-16 with a terminating zero, its length in bytes behind it. */
const readNameAt = (entries: Buffer, at: number) =>
  entries.toString('utf16le', at, at + Math.max(0, Math.min(64, entries.readUInt16LE(at + 64)) - 2))

/**
 * Finds the next sector of a chain. The header names the first 109 sectors of the allocation table; a directory beyond
 * them is not followed.
 */
async function nextSector(header: Buffer, sector: number, readSector: (sector: number) => Promise<Buffer>) {
  const [END, TABLES, TABLES_AT] = [0xffff_fffe, 109, 76]
  const perTable = 2 ** header.readUInt16LE(30) / 4
  const table = Math.floor(sector / perTable)
  if (table >= TABLES) return END
  const links = await readSector(header.readUInt32LE(TABLES_AT + 4 * table))
  return links.readUInt32LE(4 * (sector % perTable))
}

export interface FileKind {
  mime: string
  fileType: FileType
}

/** Bytes at the beginning of a file that decide whether it is text. */
export const HEAD_BYTES = 64 * 1024

/** Formats that may contain no binary bytes. Other detected formats of textual files are false positives. */
const textLikeFormats = ['application/pdf', 'application/rtf', 'application/xml']

/**
 * Detects the kind of a file that begins as text by its first `HEAD_BYTES`; returns undefined if the whole file is
 * needed.
 */
export async function detectKindOfHead(head: Buffer): Promise<FileKind | undefined> {
  const text = await detectTextKind(head)
  if (text === undefined) return undefined
  // Loaded lazily, because it contains hundreds of formats.
  const { fileTypeFromBuffer } = await import('file-type')
  const format = text === 'image/svg+xml' ? undefined : (await fileTypeFromBuffer(head))?.mime
  return toKind(format && textLikeFormats.includes(format) ? format : text)
}

/** Detects the kind of a binary file by all of it, because the deciding bytes may stand anywhere. */
export async function detectKindOfFile(file: RandomAccessFile): Promise<FileKind | undefined> {
  const { fileTypeFromBlob } = await import('file-type')
  const start = await file.read(0, 4)
  const isZip = start.toString('latin1').startsWith('PK\x03\x04')
  const mime = isZip
    ? // Loaded lazily, with a reader of archives.
      await (await import('./zip-kind.ts')).detectZipKind(file)
    : (await fileTypeFromBlob(file.asBlob()).catch(ignoreUnknown))?.mime
  if (mime === undefined) return undefined
  return toKind(mime === 'application/x-cfb' ? await detectCompoundKind(file) : mime)
}

/** Ignores the error of a detector that reads beyond the end of an unknown file. */
function ignoreUnknown(error: unknown): undefined {
  if (!(error instanceof Error) || error.name !== 'EndOfStreamError') throw error
}

/** Returns true for media types that are text from the first byte to the last. */
export const isTextual = (mime: string): boolean => /^(?:text\/|image\/svg\+xml$|application\/xml$)/.test(mime)

const documentTypes =
  /^(?:text\/|application\/(?:pdf|rtf|json|xml|msword|vnd\.(?:openxmlformats-officedocument|oasis\.opendocument)))/

const toKind = (mime: string): FileKind => ({ mime, fileType: toFileType(mime) })

function toFileType(mime: string): FileType {
  const [family] = mime.split('/')
  if (family === 'image' || family === 'audio' || family === 'video') return family
  return documentTypes.test(mime) ? 'document' : 'other'
}

/** Explanations for kinds that people often upload although they are refused. */
const refusalAdvice: readonly [kind: RegExp, name: string, advice: string][] = [
  [/^image\/hei[cf]/, 'a photo in the format HEIC (.heic)', 'send it as JPEG'],
  [/^application\/msword$/, 'a Word file of 1997-2003 (.doc)', 'save it as .docx'],
  [/^application\/vnd\.ms-excel$/, 'an Excel file of 1997-2003 (.xls)', 'save it as .xlsx'],
  [/^application\/vnd\.ms-powerpoint$/, 'a PowerPoint file of 1997-2003 (.ppt)', 'save it as .pptx'],
  [/^application\/vnd\.ms-outlook$/, 'a message of Outlook (.msg)', 'send its text'],
  [new RegExp(`^${ENCRYPTED_OFFICE}$`), 'an Office file with a password', 'save it without the password'],
  [/^application\/vnd\.ms-word\..*macroenabled/, 'a Word file with macros (.docm)', 'save it as .docx'],
  [/^application\/vnd\.ms-excel\..*macroenabled/, 'an Excel file with macros (.xlsm)', 'save it as .xlsx'],
  [/^application\/vnd\.ms-powerpoint\..*macroenabled/, 'a PowerPoint file with macros (.pptm)', 'save it as .pptx'],
]

/** Explains to the uploader why a file of this kind is refused. */
export function explainRefusal(kind: FileKind | undefined): string {
  const [, name, advice] = refusalAdvice.find(([pattern]) => kind && pattern.test(kind.mime)) ?? []
  if (name) return `This is ${name}, which is not taken; ${advice}.`
  return `Files of ${kind ? `the kind ${kind.mime}` : 'this kind'} are not taken; the configuration block storage_files lists those that are.`
}
