import { createHash } from 'node:crypto'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '../../routers/core/problems.ts'
import {
  type ReadAnnouncementText,
  viewPattern,
  type WriteAnnouncementTexts,
} from '../../routers/ports/announcement-texts.ts'
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

/** Each new announcement has a folder of its own in this one. */
export function announcementWriter(folder: string, log: Log): WriteAnnouncementTexts {
  return async (title, texts) => {
    try {
      const view = await makeFolder(folder, title)
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

/** Two of the same title may be made in one second. */
async function makeFolder(folder: string, title: string): Promise<string> {
  await mkdir(folder, { recursive: true })
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
