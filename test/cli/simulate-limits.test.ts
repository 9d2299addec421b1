import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openHost } from '../kit/command-line.ts'

interface Call {
  /** Time at which the call ended. */
  at: string
  by?: 'ada' | 'bob' | null
  tokens?: number
  micros?: number | null
  currency?: string
  model?: string
  seconds?: number
}

async function machineWith(calls: Call[]) {
  const machine = await openHost()
  await machine.rows(`insert into users (username, email, name, groups)
    select n, n || '@example.org', n, '{staff}' from unnest('{ada,bob}'::text[]) n`)
  await machine.rows(`insert into usage_records (created_at, user_id, context, provider, model, outcome, input_tokens,
      output_tokens, cost_micros, currency, duration_ms, request_id)
    select c.at, u.id, 'api', 'local', coalesce(c.model, 'small'), 'completed', coalesce(c.tokens, 10) - 1, 1, c.micros,
           c.currency, coalesce(c.seconds, 1) * 1000, 'r'
      from jsonb_to_recordset('${JSON.stringify(calls)}') as c(at timestamptz, "by" text, tokens int, micros bigint,
             currency text, model text, seconds int)
      left join users u on u.username = c."by"`)
  const file = join(machine.folder, 'candidate.yaml')
  const march = ['--from', '2026-03-01', '--to', '2026-03-31']
  return {
    ...machine,
    /** Simulates the limits of a YAML file over March; returns the refusals. */
    async simulate(yaml: string, days = march) {
      await writeFile(file, yaml)
      return machine.json('limits', 'simulate', '--file', file, ...days)
    },
    async print(yaml: string, ...flags: string[]) {
      await writeFile(file, yaml)
      return machine.run(['limits', 'simulate', '--file', file, ...march, ...flags])
    },
    march,
  }
}

const ada = (at: string, more: Partial<Call> = {}): Call => ({ at, by: 'ada', ...more })

test('svc limits simulate counts who would have been refused by period and time zone', async () => {
  const calls = ['22:30', '22:45', '22:50', '23:30'].map((time) => ada(`2026-03-01T${time}Z`))
  await using machine = await machineWith([...calls, { at: '2026-03-01T22:40Z', by: 'bob' }])

  const rows = await machine.simulate(
    'timeZone: Europe/Berlin\nlimits:\n  - { name: two a day, for: user, cap: 2, unit: requests, per: day }\n',
  )

  expect(rows).toEqual([
    {
      limit: 'two a day',
      mode: 'enforce',
      subject: 'user',
      subjectId: '2',
      username: 'ada',
      from: '2026-02-28T23:00:00.000Z',
      unit: 'requests',
      currency: null,
      cap: 2,
      calls: 3,
      refused: 1,
      refusedAmount: 1,
      used: 2,
    },
  ])
  expect((await machine.json('limits', 'list')).length).toBe(0)
})

test('svc limits simulate lets a smaller call through where a greater one was refused', async () => {
  await using machine = await machineWith(
    [60, 60, 40, 1].map((tokens, hour) => ada(`2026-03-02T0${hour + 1}:00Z`, { tokens })),
  )

  expect(
    await machine.simulate('limits:\n  - { name: a, for: installation, cap: 100, unit: tokens, per: day }\n'),
  ).toMatchObject([{ subjectId: '', username: null, calls: 4, refused: 2, refusedAmount: 61, used: 100 }])
})

test('svc limits simulate counts money by cost, and unpriced calls by the limit', async () => {
  const calls = [
    ada('2026-03-02T01:00Z', { micros: 600_000, currency: 'EUR' }),
    ada('2026-03-02T02:00Z', { micros: null }),
    ada('2026-03-02T03:00Z', { micros: 300_001, currency: 'EUR' }),
    ada('2026-03-02T04:00Z', { micros: 1, currency: 'USD' }),
    ada('2026-03-02T05:00Z', { micros: 0 }),
  ]
  await using machine = await machineWith(calls)
  const limit = (more = '') => `limits:\n  - { name: a, for: user, cap: 1, unit: EUR, per: month${more} }\n`

  const [strict, lenient] = [await machine.simulate(limit()), await machine.simulate(limit(', unpriced: 0.1'))]

  // Without a price for unpriced calls, the second and the fourth call are refused.
  expect(strict).toMatchObject([{ cap: 1_000_000, calls: 5, refused: 2, refusedAmount: 0, used: 900_001 }])
  // With a price, the second call uses the room that the third would need, and the fourth fits.
  expect(lenient).toMatchObject([{ calls: 5, refused: 1, refusedAmount: 300_001, used: 800_000 }])
})

test('svc limits simulate tells people money in its currency', async () => {
  await using machine = await machineWith(
    [600_000, 500_001].map((micros, hour) => ada(`2026-03-02T0${hour}:00Z`, { micros, currency: 'EUR' })),
  )
  const yaml = 'limits:\n  - { name: a, for: user, cap: 1, unit: EUR, per: month }\n'

  const { stdout } = await machine.print(yaml)

  expect(stdout.split('\n')[1]).toMatch(/ 2 +1 +0\.6 +1 EUR$/)
  expect((await machine.print(yaml, '--csv')).stdout).toContain(',EUR,1000000,2,1,500001,600000\r\n')
})

test('svc limits simulate counts a refused call only for the limit that refuses', async () => {
  await using machine = await machineWith([1, 2, 3, 4].map((hour) => ada(`2026-03-02T0${hour}:00Z`)))
  const limits = (mode: string) =>
    `limits:
  - { name: few, for: "user:ada", cap: 2, unit: requests, per: day, mode: ${mode} }
  - { name: many, for: group, cap: 3, unit: requests, per: month }
`
  const enforced = await machine.simulate(limits('enforce'))
  const observed = await machine.simulate(limits('observe'))

  expect(enforced).toMatchObject([{ limit: 'few', refused: 2, used: 2 }])
  expect(observed).toMatchObject([
    { limit: 'few', mode: 'observe', refused: 2, used: 3 },
    { limit: 'many', subjectId: 'staff', refused: 1, used: 3 },
  ])
})

test('svc limits simulate knows earlier usage, and counts a call by its beginning', async () => {
  const calls = [
    ada('2026-03-05T01:00Z'),
    ada('2026-03-10T01:00Z'),
    // This call began on the tenth, two minutes before midnight.
    ada('2026-03-11T00:01Z', { seconds: 180 }),
    ada('2026-03-11T02:00Z'),
  ]
  await using machine = await machineWith(calls)
  const limit = (per: string) => `limits:\n  - { name: a, for: user, cap: 1, unit: requests, per: ${per} }\n`

  const [monthly, daily, last] = [
    await machine.simulate(limit('month'), ['--from', '2026-03-10', '--to', '2026-03-10']),
    await machine.simulate(limit('day')),
    await machine.simulate(limit('day'), ['--from', '2026-03-11', '--to', '2026-03-11']),
  ]

  expect(monthly).toMatchObject([{ from: '2026-03-01T00:00:00.000Z', calls: 2, refused: 2, used: 1 }])
  expect(daily).toMatchObject([{ from: '2026-03-10T00:00:00.000Z', calls: 2, refused: 1 }])
  expect(last).toEqual([])
})

test('svc limits simulate without a file takes the limits in force', async () => {
  const all = [ada('2026-03-02T01:00Z'), { at: '2026-03-02T02:00Z', by: null }, { at: '2026-03-02T03:00Z', by: null }]
  await using machine = await machineWith(all)
  for (const subject of ['user', 'model'])
    await machine.json(
      ...['limits', 'set', subject, '--for', subject, '--cap', '1', '--unit', 'requests', '--per', 'week'],
    )

  expect(await machine.json('limits', 'simulate', ...machine.march)).toMatchObject([
    { limit: 'model', subject: 'model', subjectId: 'small', calls: 3, refused: 2 },
  ])
  expect(await machine.json('limits', 'list')).toMatchObject([{ used: 0 }, { used: 0 }])
})

test('svc limits simulate prints sums, omissions and the method, also as a spreadsheet', async () => {
  const [from, hours] = ['2026-03-02T00:00Z', 1500]
  await using machine = await machineWith([])
  await machine.rows(`insert into usage_records (created_at, user_id, context, provider, model, outcome, duration_ms, request_id)
    select timestamptz '${from}' + n / 2 * interval '10 minutes', 2, 'api', 'p', 'm', 'completed', 1000, 'r'
      from generate_series(2, ${hours} * 2 + 1) n`)
  await machine.rows(`insert into usage_rollups (day, context, provider, model, outcome, requests, estimated, unpriced,
      input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens)
    values ('2026-03-01', 'api', 'p', 'm', 'completed', 7, 0, 0, 0, 0, 0, 0, 0)`)
  const yaml = 'limits:\n  - { name: a, for: user, cap: 1, unit: requests, per: minute }\n'

  const { stdout } = await machine.print(yaml)
  const csv = (await machine.print(yaml, '--csv')).stdout.trimEnd().split('\r\n')

  const lines = stdout.trimEnd().split('\n')
  expect(lines[1001]).toBe('There are 500 more rows: --csv prints all of them.')
  expect(lines[1002]).toBe('Calls: 3000, of which limits that are enforced would have refused 1500.')
  expect(lines[1003]).toBe('Left out: 7 calls that are kept as sums of a day only.')
  expect(lines[1004]).toMatch(/^A call is counted when it began/)
  expect(csv).toHaveLength(1501)
  expect(csv.slice(0, 2)).toEqual([
    'limit,mode,subject,subjectId,username,from,unit,currency,cap,calls,refused,refusedAmount,used',
    'a,enforce,user,2,ada,2026-03-02T00:09:00.000Z,requests,,1,2,1,1,1',
  ])
})

test('svc limits simulate refuses an invalid file, and days in disorder', async () => {
  await using machine = await machineWith([])
  const stderr = async (yaml: string, ...flags: string[]) => (await machine.print(yaml, ...flags)).stderr

  expect(await stderr('')).toContain('line 1, the file: ')
  expect(await stderr('limits:\n  - { name: a, for: user, cap: -1, unit: tokens, per: day }\n')).toContain(
    'line 2, limits.0.cap: ',
  )
  expect(await machine.run(['limits', 'simulate', '--from', '2026-02-01', '--to', '2026-01-01'])).toMatchObject({
    exitCode: 2,
    stderr: '--to must not be before from.\n',
  })
  expect((await machine.print('limits: []\n')).stdout).toMatch(/^Nothing would have been refused\.\nCalls: 0, /)
})

test('svc limits simulate names limits for missing people and apps, which refuse nothing', async () => {
  await using machine = await machineWith([])
  const entry = (name: string, target: string) =>
    `  - { name: ${name}, for: "${target}", cap: 1, unit: tokens, per: day }\n`

  const { stdout } = await machine.print(
    `limits:\n${entry('a', 'user:eve')}${entry('b', 'app:Portal')}${entry('c', 'user')}`,
  )

  expect(stdout).toContain('Nothing would have been refused.\n')
  expect(stdout).toContain('\nFor people, apps or others that are not there yet: a, b.\n')
})
