import { Problem } from '../../routers/core/problems.ts'
import type { FilePart } from '../../routers/ports/messages.ts'

type Path = readonly (string | number)[]

const DATA_URL = 'must be a data: URL with base64, as nothing is fetched from elsewhere'

/** An image as bytes. */
export const imageOf = (url: string, path: Path): FilePart => filePart(url, path)

/** A document as bytes. */
export const fileOf = (data: string, name: string | null | undefined, path: Path): FilePart => ({
  ...filePart(data, path),
  ...(name && { name }),
})

/** The head of a data: URL is short, so only the beginning is searched for it. */
function filePart(url: string, path: Path): FilePart {
  const [head, mime] = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,/i.exec(url.slice(0, 300)) ?? []
  if (!head || !mime) throw new Problem('invalid', { issues: [{ path, message: DATA_URL }] })
  return { type: 'file', mime: mime.toLowerCase(), data: url.slice(head.length) }
}
