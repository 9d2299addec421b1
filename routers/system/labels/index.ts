import type { Labels, Locale } from '../../ports/locales.ts'
import german from './de_DE.json' with { type: 'json' }
import english from './en_US.json' with { type: 'json' }

/** The built-in texts. */
export const builtInLabels: Record<Locale, Labels> = { de_DE: german, en_US: english }
