import type { FileType } from '../../../entities/rooms/attachment.ts'
import { textKindOf } from './text-kind.ts'

export interface FileKind {
  mime: string
  fileType: FileType
}

/** Formats that can be written without a byte that no text has. Others that seem so are text which begins like them. */
const textual = ['application/pdf', 'application/rtf', 'application/xml']

/** What a file is by its first bytes; nothing where they are neither text nor of a known format. */
export async function kindOf(head: Buffer): Promise<FileKind | undefined> {
  // Loaded with the first file, for it knows hundreds of formats.
  const { fileTypeFromBuffer } = await import('file-type')
  const [format, text] = [(await fileTypeFromBuffer(head))?.mime, textKindOf(head)]
  const isText = text !== undefined && (text === 'image/svg+xml' || !format || !textual.includes(format))
  const mime = isText ? text : format
  return mime === undefined ? undefined : { mime, fileType: fileTypeOf(mime) }
}

/** Whether a file of a kind is text from its first byte to its last. */
export const isTextual = (mime: string): boolean => /^(?:text\/|image\/svg\+xml$|application\/xml$)/.test(mime)

const documents =
  /^(?:text\/|application\/(?:pdf|rtf|json|xml|msword|vnd\.(?:openxmlformats-officedocument|oasis\.opendocument)))/

function fileTypeOf(mime: string): FileType {
  const [family] = mime.split('/')
  if (family === 'image' || family === 'audio' || family === 'video') return family
  return documents.test(mime) ? 'document' : 'other'
}
