import { fileTypeFromBuffer } from 'file-type'
import type { FileType } from '../../../entities/rooms/attachment.ts'
import { textKindOf } from './text-kind.ts'

export interface FileKind {
  mime: string
  fileType: FileType
}

/** What a file is by its first bytes; nothing where they are neither text nor of a known format. */
export async function kindOf(head: Buffer): Promise<FileKind | undefined> {
  const mime = (await fileTypeFromBuffer(head))?.mime ?? textKindOf(head)
  return mime === undefined ? undefined : { mime, fileType: fileTypeOf(mime) }
}

const documents =
  /^(?:text\/|application\/(?:pdf|rtf|json|xml|msword|vnd\.(?:openxmlformats-officedocument|oasis\.opendocument)))/

function fileTypeOf(mime: string): FileType {
  const [family] = mime.split('/')
  if (family === 'image' || family === 'audio' || family === 'video') return family
  return documents.test(mime) ? 'document' : 'other'
}
