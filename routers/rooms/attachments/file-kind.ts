import type { FileType } from '../../../entities/rooms/attachment.ts'
import { detectCompoundKind, ENCRYPTED_OFFICE } from './compound-kind.ts'
import type { RandomAccessFile } from './random-access-file.ts'
import { detectTextKind } from './text-kind.ts'
import { detectZipKind } from './zip-kind.ts'

export interface FileKind {
  mime: string
  fileType: FileType
}

/** As much of a file tells whether it is text. */
export const HEAD = 64 * 1024

/** Formats that can be written without a byte that no text has. Others that seem so are text which begins like them. */
const textual = ['application/pdf', 'application/rtf', 'application/xml']

/** The kind of a file that begins as text by its first `HEAD` bytes; undefined where the whole file has to be read. */
export async function kindOfHead(head: Buffer): Promise<FileKind | undefined> {
  const text = await detectTextKind(head)
  if (text === undefined) return undefined
  // Loaded with the first file, for it knows hundreds of formats.
  const { fileTypeFromBuffer } = await import('file-type')
  const format = text === 'image/svg+xml' ? undefined : (await fileTypeFromBuffer(head))?.mime
  return toKind(format && textual.includes(format) ? format : text)
}

/** The kind of a file that is no text, by all of it: what tells the kind may stand anywhere. */
export async function kindOfFile(file: RandomAccessFile): Promise<FileKind | undefined> {
  const { fileTypeFromBlob } = await import('file-type')
  const start = await file.read(0, 4)
  const mime = start.toString('latin1').startsWith('PK\x03\x04')
    ? await detectZipKind(file)
    : (await fileTypeFromBlob(file.asBlob()).catch(ignoreUnknown))?.mime
  if (mime === undefined) return undefined
  return toKind(mime === 'application/x-cfb' ? await detectCompoundKind(file) : mime)
}

/** A file of no kind may lead a detector beyond its end. */
function ignoreUnknown(error: unknown): undefined {
  if (!(error instanceof Error) || error.name !== 'EndOfStreamError') throw error
}

/** Whether a file of a kind is text from its first byte to its last. */
export const isTextual = (mime: string): boolean => /^(?:text\/|image\/svg\+xml$|application\/xml$)/.test(mime)

const documents =
  /^(?:text\/|application\/(?:pdf|rtf|json|xml|msword|vnd\.(?:openxmlformats-officedocument|oasis\.opendocument)))/

const toKind = (mime: string): FileKind => ({ mime, fileType: toFileType(mime) })

function toFileType(mime: string): FileType {
  const [family] = mime.split('/')
  if (family === 'image' || family === 'audio' || family === 'video') return family
  return documents.test(mime) ? 'document' : 'other'
}

/** Names of kinds that people often send in vain, and what they can do. */
const names: readonly [kind: RegExp, name: string, advice: string][] = [
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

/** Why a file of this kind is refused, for the person who sent it. */
export function explainRefusal(kind: FileKind | undefined): string {
  const [, name, advice] = names.find(([pattern]) => kind && pattern.test(kind.mime)) ?? []
  if (name) return `This is ${name}, which is not taken; ${advice}.`
  return `Files of ${kind ? `the kind ${kind.mime}` : 'this kind'} are not taken; the configuration block storage_files lists those that are.`
}
