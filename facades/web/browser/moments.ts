/** Dates as the browser's owner writes them, in figures: the page may be in another language. */
const locales = navigator.languages

/** A moment to the day or to the minute. */
export const dayOf = (moment: string) => new Date(moment).toLocaleDateString(locales)

export const minuteOf = (moment: string) =>
  new Date(moment).toLocaleString(locales, {
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })

/** A day as the server counts it, wherever the browser is. */
export const writtenDay = (day: string) => new Date(day).toLocaleDateString(locales, { timeZone: 'UTC' })

export const writtenNumber = (number: number) => number.toLocaleString(locales)
