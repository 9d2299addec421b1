import { z } from 'zod'
import { type Issue, Problem } from '../../routers/core/problems.ts'
import { detectMediaType } from '../../routers/ports/ai/media-types.ts'
import type { FilePart } from '../../routers/ports/ai/messages.ts'

const DATA_URL = 'must be a data: URL with base64, as nothing is fetched from elsewhere'

/** Converts the data URL of an image. */
export const toImage = (url: string, path: Issue['path']): FilePart => parseDataUrl(url, path)

/** Converts the data URL of a document. */
const toFile = (data: string, name: string | null | undefined, path: Issue['path']): FilePart => ({
  ...parseDataUrl(data, path, name ?? ''),
  ...(name && { name }),
})

/** Parses a data URL; its head is short, so only the beginning is searched. */
function parseDataUrl(url: string, path: Issue['path'], name = ''): FilePart {
  const [head, mime] = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,/i.exec(url.slice(0, 300)) ?? []
  if (!head || !mime) throw new Problem('invalid', { issues: [{ path, message: DATA_URL }] })
  const data = url.slice(head.length)
  return { type: 'file', mime: detectMediaType(mime, data, name), data }
}

/** Refers to an uploaded file by the id or uuid of its attachment. */
const toAttachment = (id: string) => ({ type: 'attachment' as const, id })

/** Members of a file in a request. */
export const fileMembers = {
  file_data: z.string().nullish(),
  file_id: z.string().nullish(),
  filename: z.string().nullish(),
}

interface SentFile {
  file_data?: string | null | undefined
  file_id?: string | null | undefined
  filename?: string | null | undefined
}

interface SentImage {
  image_url?: string | null | undefined
  file_id?: string | null | undefined
}

/** Converts a file by its bytes or its id; throws unless there is exactly one of them. */
export function toFileOrAttachment({ file_data: data, file_id: id, filename }: SentFile, path: Issue['path']) {
  if (data != null && id == null) return toFile(data, filename, [...path, 'file_data'])
  if (id != null && data == null) return toAttachment(id)
  throw new Problem('invalid', { issues: [{ path, message: 'must have either file_data or file_id' }] })
}

/** Converts an image by its bytes or its id. */
export function toImageOrAttachment({ image_url: url, file_id: id }: SentImage, path: Issue['path']) {
  if (url != null && id == null) return toImage(url, [...path, 'image_url'])
  if (id != null && url == null) return toAttachment(id)
  throw new Problem('invalid', { issues: [{ path, message: 'must have either image_url or file_id' }] })
}
