const language = document.documentElement.lang

/** A moment in the language of the page, to the day or to the minute. */
export const dayOf = (moment: string) => new Date(moment).toLocaleDateString(language)

export const minuteOf = (moment: string) =>
  new Date(moment).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'short' })

/** A day as the server counts it, wherever the browser is. */
export const writtenDay = (day: string) => new Date(day).toLocaleDateString(language, { timeZone: 'UTC' })
