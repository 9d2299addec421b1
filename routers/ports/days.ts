import { z } from 'zod'

const notADay = 'must be a day such as 2026-01-31'
/** The calendar of the database has no year 0. */
export const isInCalendar = (text: string) => !text.startsWith('0000')
export const notInCalendar = 'must not be in a year 0'
export const day = z.iso.date(notADay).refine(isInCalendar, notADay)
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

/** Days in UTC, both included. */
export const days = { from: day.default(() => daysAgo(30)), to: day.default(() => daysAgo(0)) }
export const inOrder = ({ from, to }: { from: string; to: string }) => from <= to
export const notInOrder = { path: ['to'], message: 'must not be before from' }
