import type { Connection } from '../api/client.ts'

interface Language {
  lang: string
  /** Its own name for itself, such as «Deutsch». */
  nameInLanguage: string
}

const isLanguage = (value: unknown): value is Language =>
  typeof value === 'object' && value !== null && 'lang' in value && 'nameInLanguage' in value

/** Lists the languages of the service. */
export function listLanguages({ configs }: Pick<Connection, 'configs'>): Language[] {
  const available: unknown = configs['locale']?.['available']
  return Array.isArray(available) ? available.filter(isLanguage) : []
}
