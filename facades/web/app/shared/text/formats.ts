import { language, regions, t } from './labels.ts'

export const formatNumber = (number: number) => number.toLocaleString(regions)

const shareFormat = new Intl.NumberFormat(regions, { style: 'percent', maximumFractionDigits: 0 })

/** Formats a share from 0 to 1, such as «72%». */
export const formatShare = (share: number) => shareFormat.format(share)

/** Formats millionths of a currency, with so many decimals that small sums are not shown as zero. */
export function formatMoney(micros: number, currency: string): string {
  const decimals = moneyDecimals.find(([least]) => Math.abs(micros) >= least)?.[1]
  const amount = micros / 1_000_000
  return amount.toLocaleString(regions, { style: 'currency', currency, maximumFractionDigits: decimals })
}

/** The most decimals of an amount from so many millionths on. A currency without cents has its own number from 1 on. */
const moneyDecimals: readonly (readonly [least: number, decimals: number | undefined])[] = [
  [1_000_000, undefined],
  [100, 4],
  [1, 6],
]

interface LimitUnit {
  unit: 'requests' | 'tokens' | 'money' | 'calls'
  currency: string | null
}

/** Formats an amount in the unit of a limit. */
export const formatLimitAmount = ({ unit, currency }: LimitUnit, amount: number): string =>
  unit === 'money' ? formatMoney(amount, currency ?? 'EUR') : formatNumber(amount)

/** Writes an amount of a limit with its unit, such as «1,200 tokens». */
export const describeLimitAmount = (limit: LimitUnit, count: number): string =>
  limit.unit === 'money' ? formatLimitAmount(limit, count) : t(unitLabels[limit.unit], { count })

const unitLabels = {
  requests: 'app.limit.requests',
  tokens: 'app.limit.tokens',
  calls: 'app.limit.calls',
} as const

const capLabels: Readonly<Record<string, string>> = {
  minute: 'app.limit.perMinute',
  hour: 'app.limit.perHour',
  day: 'app.limit.perDay',
  week: 'app.limit.perWeek',
  month: 'app.limit.perMonth',
}

/** Writes the cap of a limit with its period, such as «1,200 tokens per day». */
export const describeLimitCap = (limit: LimitUnit & { cap: number; period: string }): string =>
  t(capLabels[limit.period] ?? '', { amount: describeLimitAmount(limit, limit.cap) })

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000]

/** Formats a duration in whole hours, or in minutes below one, such as «8 hours». */
export function formatDuration(milliseconds: number): string {
  const isShort = milliseconds < HOUR_MS
  const count = Math.max(1, Math.round(milliseconds / (isShort ? MINUTE_MS : HOUR_MS)))
  const unit = isShort ? 'minute' : 'hour'
  return new Intl.NumberFormat(regions, { style: 'unit', unit, unitDisplay: 'long' }).format(count)
}

const namesFormat = new Intl.ListFormat(language)

/** Formats several names, such as «Ada, Ben and Cleo». */
export const formatNames = (names: readonly string[]) => namesFormat.format(names)

// Lists format hundreds of dates, and creating a formatter costs far more than using it.
const shortDateFormat = new Intl.DateTimeFormat(regions, { day: 'numeric', month: 'short' })
const timestampFormat = new Intl.DateTimeFormat(regions, { dateStyle: 'medium', timeStyle: 'short' })
const timeFormat = new Intl.DateTimeFormat(regions, { timeStyle: 'short' })
const timeWithSecondsFormat = new Intl.DateTimeFormat(regions, { timeStyle: 'medium' })

/** Formats a day without its year, such as «25 Nov». */
export const formatShortDate = (date: Date) => shortDateFormat.format(date)

/** Formats a day and its time, such as «25 Nov 2026, 15:04». */
export const formatTimestamp = (date: Date) => timestampFormat.format(date)

/** Formats the time of day. */
export const formatTime = (date: Date) => timeFormat.format(date)

/** Formats the time of day with its seconds, such as «15:04:05», for what is over within a minute. */
export const formatTimeWithSeconds = (date: Date) => timeWithSecondsFormat.format(date)

/** Formats the day of an ISO timestamp in the time zone of the browser, in numbers. */
export const formatDate = (timestamp: string) => new Date(timestamp).toLocaleDateString(regions)

/** Formats the day and the minute of an ISO timestamp, in numbers. */
export const formatDateTime = (timestamp: string) =>
  new Date(timestamp).toLocaleString(regions, {
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })

/** Formats a calendar day of the service, which counts days in UTC. */
export const formatUtcDay = (day: string) => new Date(day).toLocaleDateString(regions, { timeZone: 'UTC' })
