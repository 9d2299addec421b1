import type { Locale } from './locales.ts'

/** A text of an announcement, in Markdown. */
export interface AnnouncementText {
  locale: Locale
  text: string
  /** Its SHA-256 in hexadecimal digits: another text is another version. */
  version: string
}

/** The text of an announcement in a language, or else in another one that it has; undefined where none can be read. */
export type ReadAnnouncementText = (view: string, locale?: string) => Promise<AnnouncementText | undefined>

/** The texts of a new announcement by language; those it has not are left out. */
export type NewAnnouncementTexts = Readonly<Partial<Record<Locale, string>>>

/** Writes a new folder with the texts of an announcement, whose name it makes of the time and the title. */
export type WriteAnnouncementTexts = (
  title: string,
  texts: NewAnnouncementTexts,
) => Promise<{ view: string; files: string[] }>

/** The name of the folder of its texts. */
export const viewPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,119}$/
