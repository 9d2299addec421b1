import type { FastifyRequest } from 'fastify'
import { type Locale, matchLocale } from '../routers/locales.ts'

/** The first wish of a request that names a language we speak: header, query, session or cookie, then what the browser prefers. */
export function localeOf({ headers, query }: FastifyRequest, remembered?: string): Locale | undefined {
  const { locale, lang } = (query ?? {}) as { locale?: unknown; lang?: unknown }
  const wishes = [
    headers['x-app-locale'],
    locale,
    lang,
    remembered,
    cookieLocale(headers.cookie),
    ...preferred(headers['accept-language']),
  ]
  for (const wish of wishes) {
    const found = typeof wish === 'string' ? matchLocale(wish) : undefined
    if (found) return found
  }
  return undefined
}

const cookieLocale = (cookie: string | undefined) => /(?:^|;\s*)locale=([\w-]+)/.exec(cookie ?? '')?.[1]

/** `de;q=0.8, en` as `['en', 'de']`. */
function preferred(acceptLanguage: string | undefined): string[] {
  const ranges = (acceptLanguage ?? '')
    .slice(0, 500)
    .split(',')
    .map((range) => {
      const [, tag = '', quality = '1'] = /^\s*([\w-]+)\s*(?:;\s*q=([\d.]+))?/.exec(range) ?? []
      return { tag, quality: Number(quality) || 0 }
    })
    .filter(({ quality }) => quality > 0)
  return ranges.sort((a, b) => b.quality - a.quality).map(({ tag }) => tag)
}
