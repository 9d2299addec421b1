import mime from 'mime'
import type { FileRules } from '../../routers/core/settings.ts'
import { fileKinds, plainTextExtensions, plainTextKinds } from './settings/file-kinds.ts'
import type { Env } from './settings.ts'

/** Which files messages may have. */
export function fileRulesOf({ MAX_FILE_SIZE: maxFileSize, ALLOWED_FILE_MIME_TYPES: only }: Env): FileRules {
  const allowed = only.length > 0 ? only.map(kindOfBytes) : fileKinds
  const takesText = allowed.includes('text/plain')
  const extensions = allowed.flatMap((kind) => [...(mime.getAllExtensions(kind) ?? [])])
  return {
    maxFileSize,
    allowedMimeTypes: [...new Set([...allowed, ...(takesText ? plainTextKinds : [])])],
    allowedExtensions: [...new Set([...extensions, ...(takesText ? plainTextExtensions : [])])],
  }
}

/** Nothing in the bytes of a text tells the kinds of plain text apart. */
const kindOfBytes = (kind: string) => (plainTextKinds.includes(kind) ? 'text/plain' : kind)
