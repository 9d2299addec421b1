/** Dates and numbers are written in the page's language, as the browser's user has it where they have that language. */
const { lang } = document.documentElement
const locales = [...navigator.languages.filter((each) => each.split('-')[0] === lang), lang]

/** The day of a moment in the browser's time zone. */
export const dayOf = (moment: string) => new Date(moment).toLocaleDateString(locales)

export const minuteOf = (moment: string) =>
  new Date(moment).toLocaleString(locales, {
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })

/** A calendar day of the server, which counts days in UTC. */
export const writtenDay = (day: string) => new Date(day).toLocaleDateString(locales, { timeZone: 'UTC' })

export const writtenNumber = (number: number) => number.toLocaleString(locales)

/** Millionths of a currency; small sums with the digits that matter. */
export const writtenMoney = (micros: number, currency: string) =>
  (micros / 1_000_000).toLocaleString(locales, { style: 'currency', currency, maximumFractionDigits: 4 })
