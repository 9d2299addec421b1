import { regions } from './labels.ts'

/** The day of a moment in the time zone of the browser. */
export const dayText = (moment: string) => new Date(moment).toLocaleDateString(regions)

export const minuteText = (moment: string) =>
  new Date(moment).toLocaleString(regions, {
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })

/** A calendar day of the service, which counts days in UTC. */
export const calendarDayText = (day: string) => new Date(day).toLocaleDateString(regions, { timeZone: 'UTC' })
