import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { periodAt } from '../../../entities/ai/usage-counter.sql.ts'
import { limitPeriods } from '../../../entities/ai/usage-limit.ts'

/** Zones with shifts of an hour, of half an hour, at midnight, on Sundays and Fridays, and with a skipped day. */
const zones = [
  'UTC',
  'Europe/Berlin',
  'Europe/Dublin',
  'America/New_York',
  'America/St_Johns',
  'America/Havana',
  'America/Sao_Paulo',
  'Atlantic/Azores',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Chatham',
]

interface Period {
  starts: number
  ends: number
}

let client: pg.Client
beforeAll(async () => {
  client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
})
afterAll(() => client.end())

async function periodOf(moment: number, period: string, zone: string): Promise<Period> {
  const { rows } = await client.query({
    name: 'period',
    text: `select extract(epoch from starts_at)::float8 * 1000 as starts, extract(epoch from ends_at)::float8 * 1000 as ends
             from (values ($2::text, $3::text)) as l(period, time_zone) ${periodAt('to_timestamp($1::float8 / 1000)')}`,
    values: [moment, period, zone],
  })
  return rows[0]
}

/** Returns the local time of a zone by the rules of Node.js. */
function clockAt(moment: number, zone: string) {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, value]))
  const { year, month, day, hour, minute, second } = parts as Record<string, string>
  return { date: `${year}-${month}-${day}`, time: `${hour}:${minute}:${second}` }
}

/** Returns the first day of the period that has a day. */
const firstDayOf = {
  day: (date: string) => date,
  week: (date: string) => {
    const day = new Date(`${date}T00:00:00Z`)
    day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7))
    return day.toISOString().slice(0, 10)
  },
  month: (date: string) => `${date.slice(0, 7)}-01`,
}

/** Finds the moments at which a zone changes its clocks, to the minute. */
function changesOf(zone: string): number[] {
  const offsetAt = (moment: number) => {
    const { date, time } = clockAt(moment, zone)
    return Date.parse(`${date}T${time}Z`) - moment
  }
  const changes: number[] = []
  const step = 7 * 86_400_000
  for (let from = Date.UTC(2010, 0, 1); from < Date.UTC(2027, 0, 1); from += step) {
    let [low, high] = [from, from + step]
    if (offsetAt(low) === offsetAt(high)) continue
    while (high - low > 60_000) {
      const middle = low + Math.floor((high - low) / 120_000) * 60_000
      if (offsetAt(middle) === offsetAt(low)) low = middle
      else high = middle
    }
    changes.push(high)
  }
  return changes
}

const changes = new Map(zones.map((zone) => [zone, changesOf(zone)]))
const lastDays = [31, 59, 60, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365].map((day) => day * 86_400_000)

/** Generates moments, preferably near a change of the clocks or the end of a month. */
const moments = (zone: string) => {
  const shifts = changes.get(zone) ?? []
  const nearby = fc.integer({ min: -36 * 3_600_000, max: 36 * 3_600_000 })
  const years = fc.integer({ min: 2010, max: 2026 })
  return fc.oneof(
    fc.integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2026, 11, 31) }),
    fc.tuple(years, fc.constantFrom(...lastDays), nearby).map(([year, day, ms]) => Date.UTC(year, 0, 1) + day + ms),
    ...(shifts.length > 0
      ? [
          { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...shifts), nearby).map(([at, ms]) => at + ms) },
          {
            weight: 2,
            arbitrary: fc
              .tuple(fc.constantFrom(...shifts), fc.integer({ min: -7_200_000, max: 7_200_000 }))
              .map(([at, ms]) => at + ms),
          },
        ]
      : []),
  )
}

const zonedMoments = fc.constantFrom(...zones).chain((zone) => fc.tuple(fc.constant(zone), moments(zone)))
const anyPeriod = fc.constantFrom(...limitPeriods)
const options = { numRuns: 400 }

test('a moment lies in its period from the first to the last moment', async () => {
  await fc.assert(
    fc.asyncProperty(zonedMoments, anyPeriod, async ([zone, moment], period) => {
      const { starts, ends } = await periodOf(moment, period, zone)
      expect(starts).toBeLessThanOrEqual(moment)
      expect(ends).toBeGreaterThan(moment)
      expect(await periodOf(starts, period, zone)).toEqual({ starts, ends })
      expect(await periodOf(ends - 1, period, zone)).toEqual({ starts, ends })
      expect((await periodOf(ends, period, zone)).starts).toBe(ends)
      expect((await periodOf(starts - 1, period, zone)).ends).toBe(starts)
    }),
    options,
  )
})

test('days, weeks and months begin by the clocks of the zone', async () => {
  await fc.assert(
    fc.asyncProperty(zonedMoments, fc.constantFrom('day', 'week', 'month'), async ([zone, moment], period) => {
      const { starts, ends } = await periodOf(moment, period, zone)
      const first = (at: number) => firstDayOf[period](clockAt(at, zone).date)
      expect(clockAt(starts, zone).date).toBe(first(starts))
      expect(clockAt(ends, zone).date).toBe(first(ends))
      expect(first(ends) > first(starts)).toBe(true)
      // If midnight comes twice, the hour between belongs to the day before.
      expect(first(ends - 3_600_001)).toBe(first(starts))
    }),
    options,
  )
})

test.for<[string, string, string, number]>([
  ['Europe/Berlin', 'day', '2026-03-29T12:00:00Z', 23],
  ['Europe/Berlin', 'day', '2026-10-25T12:00:00Z', 25],
  ['Australia/Lord_Howe', 'day', '2026-04-05T00:00:00Z', 24.5],
  ['America/Havana', 'day', '2025-11-02T12:00:00Z', 24],
  ['Europe/Berlin', 'week', '2026-03-25T12:00:00Z', 167],
  ['Europe/Berlin', 'month', '2026-10-10T00:00:00Z', 31 * 24 + 1],
  ['Europe/Berlin', 'month', '2028-02-29T00:00:00Z', 29 * 24],
  ['Australia/Lord_Howe', 'hour', '2026-04-04T15:10:00Z', 1],
])('in %s the %s of %s has %d hours', async ([zone, period, moment, hours]) => {
  const { starts, ends } = await periodOf(Date.parse(moment), period, zone)

  expect((ends - starts) / 3_600_000).toBe(hours)
})
