import { z } from 'zod'

const notADay = 'must be a day such as 2026-01-31'
const [FIRST, LAST] = [Date.parse('0001-01-01T00:00:00.000Z'), Date.parse('9999-12-31T23:59:59.999Z')]
/** Returns true if the UTC year has four digits, because the database has no year 0. */
export const isInCalendar = (value: string | Date) => {
  const moment = new Date(value).getTime()
  return !(moment < FIRST || moment > LAST)
}
export const calendarMessage = 'must be in a year from 0001 to 9999 in UTC'
/** A time with its offset from UTC. */
export const moment = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-01-31T08:00:00Z' })
  .max(40)
  .refine(isInCalendar, calendarMessage)
export const day = z.iso.date(notADay).refine(isInCalendar, notADay)
/** A month in UTC. */
export const monthName = z.string().regex(/^[1-9]\d{3}-(0[1-9]|1[0-2])$/, 'must be a month such as 2026-01')

export const DAY_MS = 86_400_000

/** Returns the day in UTC that is so many days before a moment, by default now. */
export const getDayBefore = (days: number, moment = Date.now()) =>
  new Date(moment - days * DAY_MS).toISOString().slice(0, 10)

/** Days in UTC, both inclusive. */
export const days = { from: day.default(() => getDayBefore(30)), to: day.default(() => getDayBefore(0)) }
export const isInOrder = ({ from, to }: { from: string; to: string }) => from <= to
export const orderIssue = { path: ['to'], message: 'must not be before from' }
