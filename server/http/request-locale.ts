import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { type Locale, matchLocale } from '../../routers/ports/locales.ts'

/** Cookie with the language that was chosen in the browser. */
export const LOCALE_COOKIE = 'locale'

/** Returns the first supported language that a request names: in header, query, session, cookie or Accept-Language. */
export function chooseLocale({ cookies, headers, query }: FastifyRequest, remembered?: string): Locale | undefined {
  const { locale, lang } = (query ?? {}) as { locale?: unknown; lang?: unknown }
  const candidates = [
    headers['x-app-locale'],
    lang,
    locale,
    remembered,
    cookies[LOCALE_COOKIE],
    ...parseAcceptLanguage(headers['accept-language']),
  ]
  for (const candidate of candidates) {
    const match = typeof candidate === 'string' ? matchLocale(candidate) : undefined
    if (match) return match
  }
  return undefined
}

/** Characters of Accept-Language that are read; no browser sends more. */
const MAX_HEADER = 500

/** Parses Accept-Language: `de;q=0.8, en` becomes `['en', 'de']`. */
const parseAcceptLanguage = (acceptLanguage: string | undefined) =>
  acceptLanguage
    ? new Negotiator({ headers: { 'accept-language': acceptLanguage.slice(0, MAX_HEADER) } }).languages()
    : []
