import { createHash } from 'node:crypto'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ReadAnnouncementText, viewPattern } from '../../routers/ports/announcement-texts.ts'
import { availableLocales, type Locale } from '../../routers/ports/locales.ts'
import type { Log } from '../../routers/ports/log.ts'

const MAX_BYTES = 256 * 1024

interface TextPlace {
  folder: string
  defaultLocale: Locale
  log: Log
}

/**
 * Reads `FOLDER/{view}/{locale}.md` each time, in the default language where there is none in the one asked for. A blank text
 * is none, and one that cannot be read is told to the log once, until it can be read again.
 */
export function announcementTexts({ folder, defaultLocale, log }: TextPlace): ReadAnnouncementText {
  const unreadable = new Set<string>()
  const read = async (file: string) => {
    try {
      const text = await readText(file)
      unreadable.delete(file)
      return text
    } catch (error) {
      if (!unreadable.has(file)) log.warn({ error }, `${file}: the text of an announcement cannot be read`)
      unreadable.add(file)
      return undefined
    }
  }
  return async (view, locale) => {
    if (!viewPattern.test(view)) return undefined
    const preferred = availableLocales.filter((known) => known === locale)
    for (const known of new Set([...preferred, defaultLocale, ...availableLocales])) {
      const file = join(folder, view, `${known}.md`)
      const text = await read(file)
      if (text?.trim()) return { locale: known, text, version: createHash('sha256').update(text).digest('hex') }
    }
    return undefined
  }
}

async function readText(file: string): Promise<string | undefined> {
  try {
    const { size } = await stat(file)
    if (size > MAX_BYTES) throw new Error(`${file} has more than ${MAX_BYTES} bytes.`)
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const template = (title: string) => `# ${title}

What people should know, in Markdown.

[CONFIRM](OK)
`

/** Makes the folder of a new announcement with a text for each language; returns its files and what it is called. */
export async function makeAnnouncement(folder: string, title: string, now = new Date()) {
  const words = title.normalize('NFKD').replace(/[^A-Za-z0-9]+/g, '-')
  const slug = words.replace(/^-|-$/g, '').slice(0, 60).toLowerCase() || 'announcement'
  const view = `${now.toISOString().replace(/\D/g, '').slice(0, 14)}-${slug}`
  await mkdir(join(folder, view), { recursive: true })
  const files = availableLocales.map((locale) => join(folder, view, `${locale}.md`))
  for (const file of files) await writeFile(file, template(title), { flag: 'wx' })
  return { view, files }
}
