import type { Locale } from './locales.ts'

/** A text of an announcement, in Markdown. */
export interface AnnouncementText {
  locale: Locale
  text: string
  /** SHA-256 in hexadecimal digits; identifies the version of the text. */
  version: string
}

/** Reads the text of an announcement in a language or, failing that, in another one; undefined if none can be read. */
export type ReadAnnouncementText = (view: string, locale?: string) => Promise<AnnouncementText | undefined>

/** Texts of a new announcement by language; missing languages are left out. */
export type NewAnnouncementTexts = Readonly<Partial<Record<Locale, string>>>

/** Writes the texts of an announcement to a new folder, named by the time and the title. */
export type WriteAnnouncementTexts = (
  title: string,
  texts: NewAnnouncementTexts,
) => Promise<{ view: string; files: string[] }>

/** Name of the folder with the texts of an announcement. */
export const viewPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,119}$/
