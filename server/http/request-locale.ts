import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { type Locale, matchLocale } from '../../routers/ports/locales.ts'

/** The cookie with the language that was chosen in a browser. */
export const LOCALE_COOKIE = 'locale'

/** The first supported language that a request names, in header, query, session, cookie or Accept-Language. */
export function chooseLocale({ cookies, headers, query }: FastifyRequest, remembered?: string): Locale | undefined {
  const { locale, lang } = (query ?? {}) as { locale?: unknown; lang?: unknown }
  const wishes = [
    headers['x-app-locale'],
    lang,
    locale,
    remembered,
    cookies[LOCALE_COOKIE],
    ...preferred(headers['accept-language']),
  ]
  for (const wish of wishes) {
    const found = typeof wish === 'string' ? matchLocale(wish) : undefined
    if (found) return found
  }
  return undefined
}

/** Longer than any browser's Accept-Language. */
const MAX_HEADER = 500

/** `de;q=0.8, en` as `['en', 'de']`. */
const preferred = (acceptLanguage: string | undefined) =>
  acceptLanguage
    ? new Negotiator({ headers: { 'accept-language': acceptLanguage.slice(0, MAX_HEADER) } }).languages()
    : []
