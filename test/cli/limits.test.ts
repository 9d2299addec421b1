import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { openHost } from '../kit/command-line.ts'
import { shareResource } from '../kit/share-resource.ts'

const set = (...more: string[]) => ['limits', 'set', 'lecture', '--for', 'installation', '--per', 'month', ...more]

/** Splits a printed table into the cells of its lines. */
const cells = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/))

const machine = shareResource(openHost)
// Removes all limits and their possible subjects for the next test.
afterEach(async () => {
  for (const table of ['usage_limits', 'ext_apps', 'users where id > 1']) await machine.rows(`delete from ${table}`)
})

describe('svc limits', () => {
  test('svc limits makes, changes, lists and removes a limit', async () => {
    expect(await machine.json(...set('--cap', '12.50', '--unit', 'EUR'))).toMatchObject({ name: 'lecture' })
    expect(await machine.json('limits', 'list')).toEqual([
      expect.objectContaining({
        name: 'lecture',
        unit: 'money',
        currency: 'EUR',
        cap: 12_500_000,
        mode: 'enforce',
        used: 0,
      }),
    ])
    await machine.json(...set('--cap', '100', '--unit', 'requests', '--mode', 'observe'))
    expect(await machine.json('limits', 'list')).toEqual([
      expect.objectContaining({ name: 'lecture', unit: 'requests', currency: null, cap: 100, mode: 'observe' }),
    ])
    expect(await machine.json('limits', 'remove', 'lecture')).toEqual({ name: 'lecture' })
    expect(await machine.json('limits', 'list')).toEqual([])
  })

  test('svc limits shows exactly the named limit, or says that there is none', async () => {
    for (const name of ['one', 'other'])
      await machine.json('limits', 'set', name, '--for', 'user', '--per', 'day', '--cap', '5', '--unit', 'requests')

    expect(await machine.json('limits', 'show', 'one')).toEqual([expect.objectContaining({ name: 'one', cap: 5 })])
    const missing = await machine.run(['limits', 'show', 'none'])
    expect([missing.exitCode, missing.stderr]).toEqual([1, "There is no limit named 'none'.\n"])
  })

  test.for<[what: string, message: string, flags: string[]]>([
    ['a cap that is half a request', '--cap must be a whole number.', ['--cap', '0.5', '--unit', 'requests']],
    ['a cap from a variable that is not set', '--cap must not be empty.', ['--cap', '', '--unit', 'requests']],
    ['a cap of spaces', '--cap must not be empty.', ['--cap', '  ', '--unit', 'requests']],
    [
      'a price from a variable that is not set',
      '--unpriced must not be empty.',
      ['--cap', '1', '--unit', 'EUR', '--unpriced', ''],
    ],
    ['a cap of less than a millionth', '--cap is too small.', ['--cap', '0.0000004', '--unit', 'EUR']],
    [
      'a price of less than a millionth',
      '--unpriced is too small.',
      ['--cap', '1', '--unit', 'EUR', '--unpriced', '0.0000004'],
    ],
    ['a cap that is no number', '--cap must be a number.', ['--cap', 'many', '--unit', 'requests']],
    ['a cap that is more than numbers hold exactly', '--cap is too large.', ['--cap', '9000000001', '--unit', 'EUR']],
    [
      'a unit that nobody knows',
      '--unit must be requests, tokens, calls (of tools) or a currency code such as EUR.',
      ['--cap', '1', '--unit', 'cups'],
    ],
    [
      'a time zone that is none',
      '--time-zone must be a time zone such as Europe/Berlin.',
      ['--cap', '1', '--unit', 'tokens', '--time-zone', 'Mars'],
    ],
    ...['SystemV/AST4', 'IST'].map((zone): [string, string, string[]] => [
      `the time zone ${zone}, which Node.js knows and the database does not`,
      `--time-zone ${zone} is not a time zone that the database knows, such as Europe/Berlin.`,
      ['--cap', '1', '--unit', 'tokens', '--time-zone', zone],
    ]),
    [
      'an offset, which the database does not know or counts in the other direction',
      '--time-zone must be a time zone such as Europe/Berlin.',
      ['--cap', '1', '--unit', 'tokens', '--time-zone=-0330'],
    ],
  ])('svc limits refuses %s and makes nothing', async ([, message, flags]) => {
    expect(await machine.run(set(...flags))).toEqual({ exitCode: 2, stdout: '', stderr: `${message}\n` })
    expect(await machine.rows('select name from usage_limits')).toEqual([])
  })

  test.for<[what: string, message: string, unit: string, amount: string]>([
    ['half a token', '--amount must be a whole number.', 'tokens', '0.5'],
    ['less than a millionth', '--amount is too small.', 'EUR', '0.0000001'],
    ['nothing', '--amount must be more than 0.', 'tokens', '0'],
    ['less than nothing', '--amount must be more than 0.', 'tokens', '-5'],
    ['more than a cap may be', '--amount is too large.', 'EUR', '9000000000'],
  ])('svc limits refuses to top a limit up by %s, and changes nothing', async ([, message, unit, amount]) => {
    await machine.run(set('--cap', '1', '--unit', unit))
    await machine.rows(`insert into usage_counters (limit_id, subject_id, starts_at, ends_at)
      select id, '', date_trunc('month', now(), 'UTC'), date_trunc('month', now(), 'UTC') + interval '1 month'
        from usage_limits`)
    const [before] = await machine.json('limits', 'list')

    const { exitCode, stderr } = await machine.run(['limits', 'top-up', 'lecture', `--amount=${amount}`])

    expect([exitCode, stderr.startsWith(message)]).toEqual([2, true])
    expect(await machine.json('limits', 'list')).toEqual([before])
  })

  test("svc limits tops a limit up repeatedly, until the cap's largest value", async () => {
    await machine.run(set('--cap', '1', '--unit', 'EUR'))
    await machine.rows(`insert into usage_counters (limit_id, subject_id, starts_at, ends_at)
      select id, '', date_trunc('month', now(), 'UTC'), date_trunc('month', now(), 'UTC') + interval '1 month'
        from usage_limits`)
    const topUp = () => machine.run(['limits', 'top-up', 'lecture', '--amount', '4000000000'])

    const exitCodes = [await topUp(), await topUp(), await topUp()].map(({ exitCode }) => exitCode)

    expect(exitCodes).toEqual([0, 0, 2])
    expect(await machine.json('limits', 'list')).toMatchObject([{ cap: 8_000_000_001_000_000 }])
  })

  test.for<[kind: string, id: string, subjectName: string | null]>([
    ['user', '2', 'ada'],
    ['token', '1', 'ada'],
    ['group', 'staff', null],
    ['role', 'user', null],
  ])('svc limits prepares the period of one unused %s, and says whose it is', async ([kind, id, subjectName]) => {
    await using machine = await openHost()
    await machine.rows(`update users set groups = '{staff}' where id = 1`)
    await machine.run(['add-user', '--username', 'ada', '--email', 'ada@example.org', '--name', 'Ada'])
    await machine.run(['token', '--username', 'ada', '--name', 'laptop'])
    await machine.run(['limits', 'set', 'each', '--for', kind, '--per', 'day', '--cap', '5', '--unit', 'requests'])
    const topUp = () => machine.json('limits', 'top-up', 'each', '--id', id, '--amount', '3')

    const toppedUp = [await topUp(), await topUp()]

    expect(toppedUp).toMatchObject([{ toppedUp: 3 }, { toppedUp: 6 }])
    const state = { subjectId: id, cap: 11, used: 0, remaining: 11, subjectName }
    expect(await machine.json('limits', 'list')).toMatchObject([state])
    expect(await machine.json('limits', 'show', 'each')).toMatchObject([state])
  })

  test.for<[kind: string, id: string, message: string]>([
    ['user', 'ada', "There is no user with the username 'ada'."],
    ['user', '70', "There is no user with the id '70'."],
    ['token', '7', "There is no token with the id '7'."],
    ['room', '7', "There is no room with the id '7'."],
    ['app', '7', "There is no app with the id '7'."],
    ['app', 'Portal', "There is no app with the name 'Portal'."],
    ['group', 'staff', "There is no group named 'staff'."],
    ['role', 'king', "There is no role named 'king'."],
    ['model', 'gpt', "There is no model named 'gpt'."],
    ['provider', 'local', "There is no provider named 'local'."],
  ])('svc limits gives a %s that is not there no more, and says so', async ([kind, id, message]) => {
    await machine.run(['limits', 'set', 'each', '--for', kind, '--per', 'day', '--cap', '5', '--unit', 'requests'])

    const { exitCode, stderr } = await machine.run(['limits', 'top-up', 'each', '--id', id, '--amount', '5'])

    expect([exitCode, stderr]).toEqual([1, `${message}\n`])
    expect(await machine.json('limits', 'list')).toMatchObject([{ subjectId: '', cap: 5 }])
  })

  test.for([
    ['user', 'Ada', 'ada'],
    ['app', 'Portal', 'Portal'],
    ['room', 'chess-aBcDe12345', 'chess-aBcDe12345'],
  ] as const)('svc limits takes one %s by the name %s, and lists it by that', async ([kind, name, subjectName]) => {
    await using machine = await openHost()
    await machine.run(['add-user', '--username', 'ada', '--email', 'ada@example.org', '--name', 'Ada'])
    await machine.rows(`insert into rooms (name, slug) values ('Chess', 'chess-aBcDe12345')`)
    const app = ['--name', 'Portal', '--url', 'https://portal.example']
    await machine.json('app', 'create', ...app)
    const flags = ['--per', 'day', '--cap', '5', '--unit', 'requests']
    await machine.json('limits', 'set', 'one', '--for', `${kind}:${name}`, ...flags)
    await machine.json('limits', 'set', 'each', '--for', kind, ...flags)
    await machine.json('limits', 'top-up', 'one', '--id', name, '--amount', '1')
    await machine.json('limits', 'top-up', 'each', '--id', name, '--amount', '2')

    expect(await machine.json('limits', 'list')).toMatchObject([
      { name: 'each', cap: 7, subjectName },
      { name: 'one', cap: 6, subjectName },
    ])
  })

  test('svc limits tells people money in its currency, and programs in millionths of it', async () => {
    await machine.run(set('--cap', '7.000001', '--unit', 'EUR'))
    const topUp = ['limits', 'top-up', 'lecture', '--amount', '50.5']

    expect((await machine.run(topUp)).stdout).toBe("The limit 'lecture' has 50.5 EUR more in this period.\n")
    expect(await machine.json(...topUp)).toEqual({
      name: 'lecture',
      unit: 'money',
      currency: 'EUR',
      toppedUp: 101_000_000,
    })
    const [cap] = (await machine.json('limits', 'list')).map((limit: { cap: number }) => limit.cap)
    expect(cap).toBe(108_000_001)
    const [names = [], values = []] = cells((await machine.run(['limits', 'list'])).stdout)
    const shown = Object.fromEntries(names.map((name, index) => [name, values[index]]))
    expect(shown).toMatchObject({ cap: '108.000001 EUR a month', used: '0', left: '108.000001' })
  })

  test('svc limits tells people how many requests more a limit has', async () => {
    await machine.run(set('--cap', '5', '--unit', 'requests'))

    expect((await machine.run(['limits', 'top-up', 'lecture', '--amount', '3'])).stdout).toBe(
      "The limit 'lecture' has 3 requests more in this period.\n",
    )
  })

  test('svc limits says whom to top up where a limit counts each separately', async () => {
    await machine.run(['limits', 'set', 'each', '--for', 'user', '--per', 'day', '--cap', '5', '--unit', 'requests'])

    expect(await machine.run(['limits', 'top-up', 'each', '--amount', '5'])).toMatchObject({
      exitCode: 2,
      stderr: '--id is required: which user gets it.\n',
    })
  })

  test('svc limits names a person by username, and says when there is none', async () => {
    const flags = ['--for', 'user:ada', '--cap', '5', '--unit', 'requests', '--per', 'day']

    const { exitCode, stderr } = await machine.run(['limits', 'set', 'of ada', ...flags])

    expect([exitCode, stderr]).toEqual([
      1,
      "There is no user with the username 'ada'. --yes sets the limit all the same: it holds once a sign-in brings them.\n",
    ])
    expect((await machine.run(['limits', 'set', 'of ada', ...flags, '--yes'])).exitCode).toBe(0)
    expect(await machine.json('limits', 'list')).toMatchObject([{ name: 'of ada', target: 'user:ada' }])
  })

  test('svc limits asks at a terminal before it takes a missing group', async () => {
    const flags = ['--for', 'group:staff', '--cap', '5', '--unit', 'requests', '--per', 'day']
    const question = 'Set the limit all the same?'

    const declined = await machine.run(['limits', 'set', 'staff', ...flags], { typing: [[question, 'n']] })
    expect([declined.exitCode, await machine.json('limits', 'list')]).toEqual([1, []])
    const accepted = await machine.run(['limits', 'set', 'staff', ...flags], { typing: [[question, 'y']] })

    expect([accepted.exitCode, accepted.stdout]).toEqual([
      0,
      "The limit 'staff' is set. It counts what is recorded of the running day: 0 requests.\n",
    ])
  })

  test('svc limits tells all faults of a command line at once', async () => {
    const flags = ['--for', 'nobody', '--cap', 'many', '--unit', 'cups', '--per', 'year', '--unpriced', '']

    const { exitCode, stderr } = await machine.run(['limits', 'set', 'x', ...flags, '--time-zone', 'Mars'])

    expect([exitCode, stderr.trimEnd().split('\n')]).toEqual([
      2,
      [
        '--cap must be a number.',
        '--unpriced must not be empty.',
        expect.stringMatching(/^--for must be one of installation/),
        '--unit must be requests, tokens, calls (of tools) or a currency code such as EUR.',
        '--per must be one of minute, hour, day, week, month.',
        '--time-zone must be a time zone such as Europe/Berlin.',
      ],
    ])
  })

  test('svc limits lists and shows every limit within 80 columns, and no NaN', async () => {
    const long = 'the money of all people who take part in the lecture on organic chemistry'
    await machine.run(['limits', 'set', long, '--for', 'user', '--per', 'month', '--cap', '0.000001', '--unit', 'EUR'])
    await machine.run(set('--cap', '1000000000000', '--unit', 'tokens', '--mode', 'observe'))

    for (const command of [['list'], ['show', long], ['show', 'lecture']]) {
      const { stdout } = await machine.run(['limits', ...command])
      expect(stdout).not.toMatch(/NaN|null|undefined/)
      expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
    }
    expect((await machine.run(['limits', 'show', long])).stdout).toContain('0.000001 EUR a month')
  })
})

describe('the file that LIMITS names', () => {
  const file = async (folder: string, text: string) => {
    const path = join(folder, 'limits.yaml')
    await writeFile(path, text)
    return path
  }

  test('the file that LIMITS names makes limits that commands cannot change', async () => {
    const yaml = 'timeZone: Europe/Berlin\nlimits:\n  - { name: lecture, for: user, cap: 3, unit: tokens, per: week }\n'
    const LIMITS = await file(machine.folder, yaml)
    const start = () => startApp({ DATABASE_URL: machine.env.DATABASE_URL, LIMITS })
    await (await start())[Symbol.asyncDispose]()

    expect(await machine.json('limits', 'list')).toEqual([
      expect.objectContaining({
        name: 'lecture',
        subject: 'user',
        cap: 3,
        unit: 'tokens',
        period: 'week',
        active: true,
      }),
    ])
    expect((await machine.run(set('--cap', '9', '--unit', 'tokens'))).stderr).toBe(
      "The limit 'lecture' stands in the file that LIMITS names. Change it there.\n",
    )
    await file(machine.folder, 'limits: []\n')
    await (await start())[Symbol.asyncDispose]()
    expect(await machine.json('limits', 'list')).toEqual([expect.objectContaining({ name: 'lecture', active: false })])
    // A limit that left the file belongs to the administrators.
    expect((await machine.run(set('--cap', '9', '--unit', 'tokens'))).exitCode).toBe(0)
    await (await start())[Symbol.asyncDispose]()
    expect(await machine.json('limits', 'list')).toEqual([
      expect.objectContaining({ name: 'lecture', cap: 9, active: true }),
    ])
    await file(machine.folder, yaml)
    await expect(start()).rejects.toThrow("the limit 'lecture' was set by an administrator")
    expect(await machine.json('limits', 'list')).toEqual([expect.objectContaining({ name: 'lecture', cap: 9 })])
    await machine.json('limits', 'remove', 'lecture')
    expect(await machine.json('limits', 'list')).toEqual([])
  })

  test('a limit of the file waits for the server of its label, and stays', async () => {
    const limit = '{ name: attic, for: "tool-server:Attic", cap: 5, unit: calls, per: day }'
    const LIMITS = await file(machine.folder, `limits:\n  - ${limit}\n`)
    await using app = await startApp({ DATABASE_URL: machine.env.DATABASE_URL, LIMITS })
    const show = () => app.host.limits.show({ name: 'attic' })
    expect(await show()).toMatchObject([{ subjectId: 'name:Attic', target: 'tool-server:Attic' }])
    const server = await app.host.mcpServers.create({ serverLabel: 'Attic', url: 'https://attic.example/mcp' })
    const id = String(server.id)
    expect(await show()).toMatchObject([{ subjectId: id, target: 'tool-server:Attic' }])
    await app.host.mcpServers.update({ id, serverLabel: 'Loft' })
    expect(await show()).toMatchObject([{ subjectId: id, target: 'tool-server:Loft' }])
    await app.host.mcpServers.delete({ id })
    expect(await show()).toMatchObject([{ subjectId: 'name:Loft' }])
  })

  test('a limit of the file for a missing person or app holds once created', async () => {
    const LIMITS = await file(
      machine.folder,
      `limits:
  - { name: hers, for: "user:Ada", cap: 3, unit: tokens, per: week }
  - { name: its, for: "app:Portal", cap: 3, unit: tokens, per: week }
`,
    )
    const start = () => startApp({ DATABASE_URL: machine.env.DATABASE_URL, LIMITS })
    const subjects = async () =>
      (await machine.json('limits', 'list')).map(({ subjectId }: { subjectId: string }) => subjectId)

    await (await start())[Symbol.asyncDispose]()
    expect(await subjects()).toEqual(['name:ada', 'name:Portal'])
    const ada = ['--username', 'ada', '--email', 'ada@example.org', '--name', 'Ada']
    expect((await machine.run(['add-user', ...ada])).exitCode).toBe(0)
    const portal = ['--name', 'Portal', '--url', 'https://portal.example']
    expect((await machine.run(['app', 'create', ...portal])).exitCode).toBe(0)
    const [person] = await machine.rows(`select id from users where username = 'ada'`)
    const [app] = await machine.rows('select id from ext_apps')
    expect(await subjects()).toEqual([`${person?.id}`, `${app?.id}`])
    await (await start())[Symbol.asyncDispose]()
    expect(await subjects()).toEqual([`${person?.id}`, `${app?.id}`])
  })

  test('a limit of the file for a missing person is topped up once created', async () => {
    const yaml = 'limits:\n  - { name: hers, for: "user:ada", cap: 3, unit: tokens, per: week }\n'
    const LIMITS = await file(machine.folder, yaml)
    await (await startApp({ DATABASE_URL: machine.env.DATABASE_URL, LIMITS }))[Symbol.asyncDispose]()
    const topUp = () => machine.run(['limits', 'top-up', 'hers', '--amount', '5'])

    const early = await topUp()
    await machine.run(['add-user', '--username', 'ada', '--email', 'ada@example.org', '--name', 'Ada'])

    expect(early).toMatchObject({
      exitCode: 1,
      stderr: "The limit 'hers' is for the user ada, which is not there yet. Top it up once it is.\n",
    })
    expect((await topUp()).exitCode).toBe(0)
    expect(await machine.json('limits', 'list')).toMatchObject([{ cap: 8 }])
  })

  test.for([
    ['user', 120],
    ['app', 120],
    ['provider', 120],
    ['model', 200],
    ['group', 200],
  ] as const)('the file that LIMITS names takes the longest name of a %s, not longer', async ([kind, longest]) => {
    const { DATABASE_URL } = machine.env
    const start = async (name: string) => {
      const entry = { name: 'long', for: `${kind}:${name}`, cap: 3, unit: 'tokens', per: 'week' }
      return startApp({ DATABASE_URL, LIMITS: await file(machine.folder, JSON.stringify({ limits: [entry] })) })
    }

    await (await start('7'.repeat(longest)))[Symbol.asyncDispose]()
    expect(await machine.json('limits', 'list')).toMatchObject([{ name: 'long', active: true }])

    await expect(start('7'.repeat(longest + 1))).rejects.toThrow('limits.0.for: has a longer name than there can be')
    if (kind === 'user') await expect(start('İ'.repeat(120))).rejects.toThrow('has a longer name than there can be')
  })

  test('the file that LIMITS names is refused with a time zone unknown to PostgreSQL', async () => {
    const LIMITS = await file(machine.folder, 'timeZone: SystemV/AST4\nlimits: []\n')

    const start = startApp({ DATABASE_URL: machine.env.DATABASE_URL, LIMITS })

    await expect(start).rejects.toThrow('SystemV/AST4 is not a time zone that the database knows')
  })

  test.for<[what: string, yaml: string, message: string]>([
    [
      'an alias without an anchor',
      'limits:\n  - { name: a, for: user, cap: *y, unit: EUR, per: week }\n',
      'limits.yaml is not valid.\n  line 2, limits.0.cap: the alias *y has no anchor &y before it',
    ],
    [
      'an alias in what it names',
      'limits: &all\n  - { name: a, for: user, cap: 1, unit: EUR, per: week }\n  - *all\n',
      'limits.yaml is not valid.\n  line 3, limits.1: the alias *all stands in what it names',
    ],
    [
      'amounts of less than a millionth',
      'limits:\n  - { name: a, for: user, cap: 0.0000004, unit: EUR, per: week, unpriced: 0.0000004 }\n',
      'line 2, limits.0.cap: is too small\n  line 2, limits.0.unpriced: is too small',
    ],
  ])('the file that LIMITS names is refused with %s by line and path', async ([, yaml, message]) => {
    const LIMITS = await file(machine.folder, yaml)

    await expect(startApp({ DATABASE_URL: machine.env.DATABASE_URL, LIMITS })).rejects.toThrow(message)
  })

  test('the file that LIMITS names is refused by line and path of every error', async () => {
    const yaml =
      'limits:\n  - { name: a, for: nobody, cap: 3, unit: tokens, per: week }\n  - { name: a, for: user, cap: -1 }\n' +
      '  - { name: b, for: "role:USER", cap: 3, unit: tokens, per: week }\n'
    const LIMITS = await file(machine.folder, yaml)

    const start = startApp({ DATABASE_URL: machine.env.DATABASE_URL, LIMITS })

    await expect(start).rejects.toThrow(
      /line 2, limits\.0\.for: must be one of installation, .*\n.*line 3, limits\.1\.cap: (?:.*\n)+.*line 4, limits\.2\.for: must be role:user or role:admin/,
    )
  })
})
