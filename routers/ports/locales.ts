import { z } from 'zod'

/** A language and region, such as `de_DE`. */
export const locale = z
  .string()
  .regex(/^[a-z]{2}_[A-Z]{2}$/, 'must be a locale such as en_US')
  .describe('A language and region, such as `de_DE`.')

/** The available languages. */
export const availableLocales = ['de_DE', 'en_US'] as const
export type Locale = (typeof availableLocales)[number]

const names: Record<Locale, string> = { de_DE: 'Deutsch', en_US: 'English' }

/** The languages in the form that front ends show. */
export const describedLocales = availableLocales.map((lang) => ({
  lang,
  htmlLang: lang.replace('_', '-'),
  nameInLanguage: names[lang],
  shortName: lang.slice(0, 2).toUpperCase(),
}))

/** Returns the available locale that matches exactly or by language; undefined for an unknown language. */
export function matchLocale(wish: string): Locale | undefined {
  const [, language = '', region = ''] = /^([a-z]{2})(?:[-_]([a-z]{2}))?$/i.exec(wish.trim()) ?? []
  const exact = `${language.toLowerCase()}_${region.toUpperCase()}`
  return (
    availableLocales.find((known) => known === exact) ??
    availableLocales.find((known) => language && known.startsWith(`${language.toLowerCase()}_`))
  )
}

/** Texts by dotted key. */
export type Labels = Readonly<Record<string, string>>
