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

/** Keeps a file on this page and returns its id; undefined for a kind that models do not get. */
export async function addPageFile(file: File): Promise<string | undefined> {
  const { type, name } = file
  const isPicture = PICTURES.has(type)
  const content = isTextType(type) ? await readText(file) : file
  if (!content || content.size === 0 || (!isPicture && /^(image|audio|video)\//.test(type))) return undefined
  const id = PREFIX + crypto.randomUUID()
  const fileType = isPicture ? 'image' : 'document'
  pageFiles.set(id, { id, name, fileType, mime: content.type, bytes: content.size, content })
  return id
}

/** The kinds of pictures that models get. */
const PICTURES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** Browsers know no type of many files that are texts. */
const isTextType = (type: string): boolean =>
  type === '' || /^text\/(?!rtf$)/.test(type) || /^application\/.*(json|xml|javascript|yaml|x-sh|toml)$/.test(type)

/** Reads a text as models get it; undefined for other content. */
async function readText(file: File): Promise<Blob | undefined> {
  const text = decodeText(await file.arrayBuffer())
  return text.includes('\0') ? undefined : new Blob([text], { type: 'text/plain' })
}

/** Texts that are not in UTF-8 are mostly in the character set of Windows. */
function decodeText(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
