import { createHash } from 'node:crypto'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../routers/core/make-folder.ts'
import { Problem } from '../../routers/core/problems.ts'
import {
  type ReadAnnouncementText,
  viewPattern,
  type WriteAnnouncementTexts,
} from '../../routers/ports/announcement-texts.ts'
import { availableLocales, type Locale } from '../../routers/ports/locales.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { Env } from './settings.ts'

const MAX_BYTES = 256 * 1024

/** Returns the folder with the texts of announcements. */
export const announcementsFolder = ({ ANNOUNCEMENTS, DATA_DIR }: Env): string =>
  ANNOUNCEMENTS ?? join(DATA_DIR, 'announcements')

interface AnnouncementReaderOptions {
  folder: string
  defaultLocale: Locale
  log: Log
}

/**
 * Creates the reader of announcement texts. It reads `FOLDER/{view}/{locale}.md` at each call, in the default language if there
 * is no text in the requested one. A blank text counts as missing. An unreadable file is logged once until it is readable again.
 */
export function createAnnouncementReader({
  folder,
  defaultLocale,
  log,
}: AnnouncementReaderOptions): ReadAnnouncementText {
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

/** Creates the writer of announcement texts, which creates a subfolder for each announcement. */
export function createAnnouncementWriter(folder: string, log: Log): WriteAnnouncementTexts {
  return async (title, texts) => {
    try {
      const view = await makeAnnouncementFolder(folder, title)
      const files: string[] = []
      for (const [locale, text] of Object.entries(texts)) {
        const file = join(folder, view, `${locale}.md`)
        await writeFile(file, text, { flag: 'wx' })
        files.push(file)
      }
      return { view, files }
    } catch (error) {
      log.warn({ error }, `${folder}: the texts of an announcement cannot be written`)
      throw new Problem('conflict', {
        detail:
          'The folder of announcements cannot be written. Let the service write into the one that ANNOUNCEMENTS names, or name another.',
      })
    }
  }
}

/** Creates the folder of an announcement; it numbers folders of the same title and second. */
async function makeAnnouncementFolder(folder: string, title: string): Promise<string> {
  await makeFolder(folder)
  const words = title.normalize('NFKD').replace(/[^A-Za-z0-9]+/g, '-')
  const slug = words.replace(/^-|-$/g, '').slice(0, 60).toLowerCase() || 'announcement'
  const name = `${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}-${slug}`
  for (let count = 1; ; count++) {
    const view = count === 1 ? name : `${name}-${count}`
    try {
      await mkdir(join(folder, view))
      return view
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
