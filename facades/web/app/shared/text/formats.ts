import { regions } from './labels.ts'

export const formatNumber = (number: number) => number.toLocaleString(regions)

/** Millionths of a currency; small sums with the digits that matter. */
export const formatMoney = (micros: number, currency: string) =>
  (micros / 1_000_000).toLocaleString(regions, { style: 'currency', currency, maximumFractionDigits: 4 })

/** The day of a moment in the time zone of the browser. */
export const formatDate = (moment: string) => new Date(moment).toLocaleDateString(regions)

export const formatDateTime = (moment: string) =>
  new Date(moment).toLocaleString(regions, {
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })

/** A calendar day of the service, which counts days in UTC. */
export const formatUtcDay = (day: string) => new Date(day).toLocaleDateString(regions, { timeZone: 'UTC' })
