/** Values for the placeholders of a text, such as `:count`. */
type Values = Readonly<Record<string, string | number>>

let labels: Readonly<Record<string, string>> = {}

const { locale = 'en_US', labels: address = '' } = document.documentElement.dataset

/** The language of the page as the service names it, such as `de_DE`. */
export const appLocale = locale

/** The language of the page as browsers name it, such as `de-DE`. */
export const language = locale.replace('_', '-')

/** Locales for dates and numbers: the browser's regional variants of the language, then the language itself. */
export const regions = [...navigator.languages.filter((each) => each.slice(0, 2) === language.slice(0, 2)), language]

/** Loads the labels in the language of the page, before anything is rendered. */
export async function loadLabels(): Promise<void> {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`The texts could not be loaded: ${response.status}`)
  labels = (await response.json()) as Record<string, string>
}

/** Returns a label by its key, in the plural form for a `count`. */
export function t(key: string, values: Values = {}): string {
  const { count } = values
  const form = typeof count === 'number' ? plurals.select(count) : undefined
  const text = (form && labels[`${key}.${form}`]) ?? labels[key] ?? key
  return text.replace(/:([a-z]+)\b/g, (placeholder, name: string) => formatValue(values[name]) ?? placeholder)
}

export const hasLabel = (key: string): boolean => labels[key] !== undefined

const plurals = new Intl.PluralRules(language)
const numbers = new Intl.NumberFormat(regions)

const formatValue = (value: string | number | undefined) => (typeof value === 'number' ? numbers.format(value) : value)
