import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { svcConsole } from '../../cli/programs.ts'
import { openHost, runCommand, unreachableHost } from '../kit/command-line.ts'

test.for<[says: string, ...argv: string[]]>([
  ['Say which command.'],
  ["There is no command 'nope'.", 'nope'],
  ["There is no command 'constructor'.", 'constructor'],
  ["There is no command '--yes'.", '--yes', 'token'],
  ['Say which command.', 'models'],
  ["There is no command 'delete'.", 'models', 'delete'],
  ["Unknown option '--nmae'.", 'token', '--nmae', 'laptop'],
  ["Did you mean '--name'?", 'token', '--nmae', 'laptop'],
  ["Did you mean 'add-user'?", 'ad-user'],
  ["Did you mean 'sync'?", 'models', 'snyc'],
  ["There is no command 'nope'.", 'help', 'nope'],
  ["There is no command 'ada'.", 'users', 'ada'],
  ['--list', 'token', '--list', '--revoke', '--id', '2'],
  ['--name does not go with --list.', 'token', '--list', '--id', '2', '--name', 'laptop'],
  ['--password-stdin is missing.', 'set-password', '--id', '2'],
  [
    '--role must be one of user, admin.',
    'add-user',
    '--username',
    'ada',
    '--email',
    'a@example.org',
    '--name',
    'Ada',
    '--role',
    'emperor',
  ],
  ["Unknown option '--no-json'.", 'token', '--no-json'],
  ["'laptop' is one word too many.", 'token', 'laptop'],
  ["'b.png' is one word too many.", 'update-avatar', 'a.png', 'b.png'],
  ["Option '--name <value>' argument missing.", 'token', '--name'],
  ["Option '--name <value>' argument missing.", 'token', '--name', '--yes'],
  ['--anchor is given more than once.', 'announcement', 'publish', 'Rules', 'rules', '--anchor', 'a', '--anchor=b'],
  ["Option '--yes' does not take an argument.", 'remove-user', '--yes=no'],
  ['--username, --email or --id is missing.', 'token', '--name', 'laptop'],
  ['--name is missing.', 'token', '--username', 'ada'],
  ['Give only one of --username, --email and --id.', 'token', '--username', 'ada', '--id', '2', '--name', 'laptop'],
  ['--username must not be empty.', 'token', '--username', '', '--name', 'laptop'],
  ['--id must be a number.', 'token', '--id', 'ada', '--name', 'laptop'],
  ['--id must be a whole number.', 'token', '--id', '1.5', '--name', 'laptop'],
  ['--id must be at least 1.', 'token', '--id', '0', '--name', 'laptop'],
  ['--id is too large.', 'token', '--id', '2147483648', '--name', 'laptop'],
  ['--name must have at most 16 characters.', 'token', '--id', '2', '--name', 'seventeen letters'],
  ['--name must not be empty.', 'token', '--id', '2', '--name', ' '],
  ['--abilities must be one of ', 'token', '--id', '2', '--name', 'laptop', '--abilities', 'ai,fly'],
  ['--abilities must be one of ', 'token', '--id', '2', '--name', 'laptop', '--abilities', ''],
  ['--expires needs a unit', 'token', '--id', '2', '--name', 'laptop', '--expires', '90'],
  ['--expires must be a length of time', 'token', '--id', '2', '--name', 'laptop', '--expires', 'soon'],
  ['--expires must be a length of time', 'token', '--id', '2', '--name', 'laptop', '--expires=-1d'],
  ['--expires must be at most', 'token', '--id', '2', '--name', 'laptop', '--expires', '101y'],
  ['--token-id goes with --revoke.', 'token', '--id', '2', '--name', 'laptop', '--token-id', '3'],
  ['--name does not go with --revoke.', 'token', '--revoke', '--id', '2', '--name', 'laptop'],
  ['--token-id is missing.', 'token', '--revoke', '--id', '2', '--yes'],
  ['--token-id must be a number.', 'token', '--revoke', '--id', '2', '--yes', '--token-id', 'laptop'],
  ['--yes is missing.', 'token', '--revoke', '--id', '2', '--token-id', '3'],
  ['--yes is missing.', 'remove-user', '--id', '2'],
  ['--email is missing.', 'add-user', '--username', 'ada'],
  ['--email must be an e-mail address.', 'add-user', '--username', 'ada', '--email', 'ada', '--name', 'Ada'],
  ['--username must start with', 'add-user', '--username', 'Ada Example', '--email', 'a@example.org', '--name', 'Ada'],
  ['--name must not be empty.', 'add-user', '--username', 'ada', '--email', 'a@example.org', '--name', ''],
  ['--role must be one of user, admin.', 'set-role', '--username', 'ada', '--role', 'emperor'],
  ['--role is missing.', 'set-role', '--username', 'ada'],
  ['PATH is missing.', 'update-avatar'],
  ['--days must not be empty.', 'prices', 'check', '--days', ''],
  ['--sample must not be empty.', 'files', 'verify', '--sample', ' '],
  ['--months must not be empty.', 'files', 'expired', '--months', ''],
  ['--amount must not be empty.', 'limits', 'top-up', 'lecture', '--amount', ''],
])('a wrong command line exits with 2 and opens no database: %s', async ([says, ...argv]) => {
  const plain = await runCommand(argv, { env: unreachableHost })
  const json = await runCommand([...argv, '--json'], { env: unreachableHost })

  expect(plain).toMatchObject({ exitCode: 2, stdout: '' })
  expect(plain.stderr).toContain(says)
  expect(json.exitCode).toBe(2)
  expect(JSON.parse(json.stdout)).toEqual({ error: { code: 'usage', message: expect.any(String) } })
})

test.for<[faults: string[], ...argv: string[]]>([
  [
    [
      "Unknown option '--foo'. Did you mean '--for'?",
      "'y' is one word too many.",
      '--cap is missing.',
      '--unit is missing.',
    ],
    'limits',
    'set',
    'x',
    'y',
    '--foo',
    '--for',
    'user',
    '--per',
    'day',
  ],
  [
    ['NAME is missing.', '--for is missing.', '--cap is missing.', '--unit is missing.', '--per is missing.'],
    'limits',
    'set',
  ],
  [['FILE is missing.'], 'prices', 'import'],
  [
    [
      '--username must start with',
      '--email must be an e-mail address.',
      '--name is missing.',
      '--role must be one of user, admin.',
    ],
    'add-user',
    '--username',
    'Ada E',
    '--email',
    'b',
    '--role',
    'boss',
  ],
  [['--role must be one of user, admin.', '--page must be a number.'], 'users', '--role', 'boss', '--page', 'x'],
  [
    [
      '--abilities must be one of',
      '--expires must be a length of time',
      '--username, --email or --id is missing.',
      '--name must not be empty.',
    ],
    'token',
    '--abilities',
    'fly',
    '--expires',
    'soon',
    '--name',
    '',
  ],
  [
    ['--name does not go with --list.', '--yes does not go with --list.'],
    'token',
    '--list',
    '--name',
    'x',
    '--yes',
    '--id',
    '2',
  ],
  [
    ['--url is missing.', '--abilities must be one of', '--days must be a number.'],
    'app',
    'create',
    '--name',
    'x',
    '--abilities',
    'fly',
    '--days',
    'x',
  ],
  [
    ['--overlap must be a number.', '--expires must be a length of time'],
    'app',
    'rotate',
    '1',
    '--overlap',
    'x',
    '--expires',
    'x',
  ],
  [
    [
      "Unknown option '--fro'. Did you mean '--for'?",
      '--cap is missing.',
      '--unit must be requests, tokens, calls (of tools) or a currency',
      '--per must be one of',
      '--time-zone must be a time zone',
    ],
    ...'limits set x --fro=y --for user --unit cups --per eon --time-zone Mars'.split(' '),
  ],
  [
    ["Unknown option '--foo'.", '--for is missing.', '--cap must be a whole number.'],
    ...'limits set x --foo --cap 0.5 --unit requests --per day'.split(' '),
  ],
  [
    ["Option '--cap <value>' argument missing.", '--per is missing.', '--unit must be requests'],
    ...'limits set x --for user --unit cups --cap'.split(' '),
  ],
  [
    ["Unknown option '--foo'.", '--amount must be a number.'],
    ...'limits top-up lecture --foo --amount many'.split(' '),
  ],
  [
    [
      "Unknown option '--nmae'.",
      '--email must be an e-mail address.',
      '--name is missing.',
      '--role must be one of user, admin.',
    ],
    ...'add-user --nmae=Ada --username ada --email b --role boss'.split(' '),
  ],
  [
    ["Unknown option '--foo'.", '--token-id goes with --revoke.', '--expires needs a unit', '--name is missing.'],
    ...'token --foo --token-id 3 --expires 90 --id 2'.split(' '),
  ],
  [
    ["Unknown option '--foo'.", '--id must be a number.', '--role must be one of user, admin.'],
    ...'set-role --foo --id ada --role boss'.split(' '),
  ],
  [
    ["Unknown option '--foo'.", '--by must be one of', '--from must be a day', '--to must be a day'],
    ...'usage --foo --by mood --from today --to 1.1.2026'.split(' '),
  ],
  [
    ["Unknown option '--foo'.", '--month leaves no room', '--month must be a month', '--by must be one of'],
    ...'usage --foo --month May --from 2026-01-01 --by mood'.split(' '),
  ],
  [
    ["Unknown option '--foo'.", '--from must be a day', '--limit must be a number.'],
    ...'audit list --foo --from today --limit many'.split(' '),
  ],
  [["Unknown option '--foo'.", '--days must be a number.'], ...'prices check --foo --days old'.split(' ')],
  [
    ["Unknown option '--foo'.", 'Give only one of --global', '--type must be one of', '--start must be a time'],
    ...'announcement publish Rules rules --foo --global --users ada --type loud --start now'.split(' '),
  ],
  [['VIEW is missing.', '--type must be one of'], 'announcement', 'publish', 'Rules', '--type', 'x'],
])('all faults of a command line are reported at once: %j', async ([faults, ...argv]) => {
  const { exitCode, stderr } = await runCommand(argv, { env: unreachableHost })

  expect(exitCode).toBe(2)
  expect(
    stderr
      .trim()
      .split('\n')
      .map((line, at) => line.startsWith(faults[at] ?? '?')),
    stderr,
  ).toEqual(faults.map(() => true))
})

test.for<[fault: string, ...argv: string[]]>([
  ["Unknown option '--foo'.", 'app:token', '--foo', '--name', 'seventeen letters', '--username', 'ada'],
  ["Unknown option '--force'.", 'ext-app:create', '--force', '--name', '', '--url', 'x'],
])('svc-console reports an unknown flag beside a wrong value: %s %s', async ([fault, ...argv]) => {
  const { exitCode, stderr } = await runCommand(argv, { env: unreachableHost, program: svcConsole })

  expect([exitCode, stderr.split('\n')]).toEqual([
    2,
    [expect.stringContaining(fault), expect.stringMatching(/^--name must/), ''],
  ])
})

test('a command with an unknown flag writes nothing, even with right values', async () => {
  await using machine = await openHost()
  const env = { ...machine.env, FRONTEND_MIGRATIONS: machine.folder }

  for (const argv of ['migration:make after_login_hello', 'add-user --username ada --email a@example.org --name Ada'])
    expect(await runCommand([...argv.split(' '), '--foo'], { env })).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringMatching(/^Unknown option '--foo'\.[^\n]*\n$/),
    })
  expect(await readdir(machine.folder)).toEqual([])
  expect(await machine.rows('select id from users where id > 1')).toEqual([])
})

test('at a terminal, a command line with a fault asks nothing', async () => {
  const { exitCode, stderr } = await runCommand(['add-user', '--nmae=Ada'], { env: unreachableHost, typing: [] })

  expect([exitCode, stderr]).toEqual([2, "Unknown option '--nmae'. Did you mean '--name'?\n"])
})

test('a nonexistent day, or a period that ends before it begins, exits with 2', async () => {
  await using machine = await openHost()

  expect(await machine.run(['usage', '--from', '2026-02-30'])).toMatchObject({
    exitCode: 2,
    stderr: '--from must be a day such as 2026-01-31.\n',
  })
  expect(await machine.run(['usage', '--from', '2026-02-02', '--to', '2026-02-01'])).toMatchObject({ exitCode: 2 })
})

test('svc-console knows its own names of commands alone, and exits with 2 for others', async () => {
  expect(await runCommand(['token'], { env: unreachableHost, program: svcConsole })).toMatchObject({ exitCode: 2 })
  expect(await runCommand(['app:token'], { env: unreachableHost, program: svcConsole })).toMatchObject({
    exitCode: 2,
    stderr: '--username, --email or --id is missing.\n--name is missing.\n',
  })
})
