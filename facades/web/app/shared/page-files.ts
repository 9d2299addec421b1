import { InputError } from './api/error-text.ts'
import { t } from './text/labels.ts'

/** A file as messages list it. */
interface PageFile {
  id: string
  name: string
  fileType: 'image' | 'document'
  mime: string
  bytes: number
  content: Blob
}

/** The files of temporary chats, which only this page has, and which go with it. */
const pageFiles = new Map<string, PageFile>()

const PREFIX = 'page-'

/** Returns true for the id of a file that is not uploaded. */
export const isPageFile = (id: string): boolean => id.startsWith(PREFIX)

export const hasPageFile = (id: string): boolean => pageFiles.has(id)

/** Returns a file of this page; throws if it is gone. */
export function findPageFile(id: string): PageFile {
  const file = pageFiles.get(id)
  if (!file) throw new InputError(t('app.temporary.gone'))
  return file
}

export const forgetPageFile = (id: string): boolean => pageFiles.delete(id)

/** Returns the size of all files of this page, in bytes. */
export const countPageBytes = (): number => [...pageFiles.values()].reduce((sum, { bytes }) => sum + bytes, 0)

/** Puts the names of files before a text, in place of the files. */
export const nameFiles = (text: string, files: readonly { name: string }[]): string =>
  [files.map(({ name }) => `[${name}]`).join(' '), text].filter((each) => each !== '').join('\n\n')

/** Returns true if a file has a text, of which a part can be taken. */
export const isText = ({ mime }: { mime: string }): boolean => mime === TEXT

/**
 * Keeps a file on this page and returns its id; undefined for a kind that models do not get, or that is not allowed. Each
 * later question of its chat carries the file again, so one that the service refuses would block the chat.
 */
export async function addPageFile(file: File, allowedTypes?: readonly string[]): Promise<string | undefined> {
  const content = await readContent(file)
  if (!content || content.size === 0) return undefined
  const { type: mime, size: bytes } = content
  const isAllowed = [mime, ...(mime === TEXT ? [file.type] : [])].some((type) => allowedTypes?.includes(type) ?? true)
  if (!isAllowed) return undefined
  const id = PREFIX + crypto.randomUUID()
  const fileType = mime.startsWith('image/') ? 'image' : 'document'
  pageFiles.set(id, { id, name: file.name, fileType, mime, bytes, content })
  return id
}

const TEXT = 'text/plain'

/** Reads a file as models get it, as it may be changed or removed on the disk later; undefined for other content. */
async function readContent(file: File): Promise<Blob | undefined> {
  const bytes = await file.arrayBuffer()
  const type = findType(bytes, file.type)
  if (type === undefined) return undefined
  if (!isTextType(type)) return new Blob([bytes], { type })
  const text = decodeText(bytes)
  return text.includes('\0') ? undefined : new Blob([text], { type: TEXT })
}

/** How the kinds begin that the service knows by their bytes: the pictures that models get, and documents. */
const beginnings: readonly (readonly [type: string, beginning: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8/],
  ['image/webp', /^RIFF.{4}WEBP/s],
  ['application/pdf', /^%PDF-/],
  ['application/rtf', /^\{\\rtf/],
]

/** Finds the type by the first bytes, or else takes what the browser says; undefined if the bytes contradict it. */
function findType(bytes: ArrayBuffer, type: string): string | undefined {
  const head = String.fromCharCode(...new Uint8Array(bytes.slice(0, 16)))
  const known = beginnings.find(([, beginning]) => beginning.test(head))
  if (known) return known[0]
  const isOther = /^(image|audio|video)\//.test(type) || beginnings.some(([each]) => each === type)
  const isNoOffice = /officedocument|opendocument/.test(type) && !head.startsWith('PK')
  return isOther || isNoOffice ? undefined : type
}

/** Browsers know no type of many files that are texts. */
const isTextType = (type: string): boolean =>
  type === '' || /^text\/(?!rtf$)/.test(type) || /^application\/.*(json|xml|javascript|yaml|x-sh|toml)$/.test(type)

/** Texts that are not in UTF-8 are mostly in the character set of Windows. */
function decodeText(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
