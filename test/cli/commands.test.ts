import { join } from 'node:path'
import { verify } from '@node-rs/argon2'
import { expect, test } from 'vitest'
import { svc, svcConsole } from '../../cli/programs.ts'
import manifest from '../../package.json' with { type: 'json' }
import { readAccounts } from '../../server/login/accounts.ts'
import { adaFlags, openHost, runCommand, terminalKeys, unreachableHost } from '../kit/command-line.ts'
import { createEmptyDatabase } from '../kit/database.ts'

const { version } = manifest

test('a command prints exactly the documented JSON', async () => {
  await using machine = await openHost()

  const added = await machine.json('add-user', ...adaFlags)
  const changed = await machine.json('set-role', '--username', 'ada', '--role', 'admin')
  const flags = ['--name', 'laptop', '--abilities', 'ai,user,read', '--expires', '90d']
  const token = await machine.json('token', '--username', 'ada', ...flags)

  expect(added).toEqual({ id: 2, username: 'ada', email: 'ada@example.org', name: 'Ada Example', role: 'user' })
  expect(changed).toEqual({ id: 2, username: 'ada', role: 'admin' })
  expect(token).toEqual({ id: 1, name: 'laptop', token: expect.stringMatching(/^svc_1_[0-9A-Za-z]{46}$/) })
  const [row] = await machine.rows('select abilities, expires_at - now() as left, hash from access_tokens')
  expect(row).toMatchObject({ abilities: ['ai', 'user', 'read'], left: { days: 89, hours: 23 } })
  expect(token.token).not.toContain(row?.hash)
})

test('a command adds an administrator with a password, and gives them another one', async () => {
  await using machine = await openHost()
  const flags = ['--role', 'admin', '--password-stdin', '--json']

  const added = await machine.run(['add-user', ...adaFlags, ...flags], { piped: 'correct horse\n' })
  const [first] = await readAccounts(join(machine.folder, 'accounts.json'))
  const changed = await machine.run(['set-password', '--id', '2', '--password-stdin', '--json'], {
    piped: 'battery staple',
  })
  const [second] = await readAccounts(join(machine.folder, 'accounts.json'))

  expect(JSON.parse(added.stdout)).toMatchObject({ username: 'ada', role: 'admin' })
  expect(JSON.parse(changed.stdout)).toEqual({ id: 2, username: 'ada' })
  expect(await verify(first?.hash ?? '', 'correct horse')).toBe(true)
  expect(await verify(second?.hash ?? '', 'battery staple')).toBe(true)
  const isNoted = 'select password_changed_at > created_at as noted from users where id = 2'
  expect(await machine.rows(isNoted)).toEqual([{ noted: true }])
})

test('a command lists users, finds them by any of their names, and shows one', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  await machine.run(['add-user', '--username', 'bob', '--email', 'bob@example.org', '--name', '100% Bob'])
  await machine.run(['token', '--username', 'ada', '--name', 'laptop'])
  const names = async (...argv: string[]) =>
    (await machine.json('users', ...argv)).map(({ username }: { username: string }) => username)

  expect(await names()).toEqual(['ada', 'bob', 'svc'])
  expect(await names('list')).toEqual(['ada', 'bob', 'svc'])
  expect(await names('--search', 'EXAMPLE.ORG')).toEqual(['ada', 'bob'])
  expect(await names('--search', '0% b')).toEqual(['bob'])
  expect(await names('--search', '_')).toEqual([])
  expect((await machine.run(['users'])).stdout).toMatch(
    /^id +username +name +email +role +groups +signedInAt +state +source\n2 +ada +Ada Example .* user +- +- +registering +none\n/,
  )
  expect(await machine.json('users', 'show', '--username', 'ada')).toEqual({
    id: 2,
    username: 'ada',
    name: 'Ada Example',
    email: 'ada@example.org',
    role: 'user',
    groups: [],
    subject: null,
    disabled: false,
    signedInAt: null,
    createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    hasKeys: false,
    sessions: 0,
    tokens: 1,
    tokenUsedAt: null,
    localAccount: false,
  })
})

test('a command lists the tokens of a user, expired ones too, by both programs', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  expect((await machine.run(['token', '--list', '--id', '2'])).stdout).toBe('This user has no tokens.\n')
  for (const name of ['laptop', 'phone']) await machine.run(['token', '--username', 'ada', '--name', name])
  await machine.rows(`update access_tokens set expires_at = now() - interval '1 second' where name = 'phone'`)

  const listed = await machine.json('token', '--list', '--username', 'ada')
  const inWords = await machine.run(['app:token', '--list', '--username', 'ada'], { program: svcConsole })

  expect(listed).toMatchObject([
    { id: 1, name: 'laptop', abilities: ['ai', 'user', 'read'] },
    { id: 2, name: 'phone' },
  ])
  expect(inWords.stdout).toMatch(/^1 +laptop +ai,user,read +- +\d{4}-\d\d-\d\d \d\d:\d\d +- +-$/m)
})

test('a command helps in lines of at most 80 columns', async () => {
  for (const argv of [['--help'], ['token', '--help'], ['add-user', '--help'], ['usage', '--help']]) {
    const { stdout } = await runCommand(argv, { env: unreachableHost })
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  }
})

test('a command tells its version, by both programs', async () => {
  for (const program of [svc, svcConsole]) {
    expect(await runCommand(['--version'], { env: unreachableHost, program })).toEqual({
      exitCode: 0,
      stdout: `${version}\n`,
      stderr: '',
    })
    const { stdout } = await runCommand(['--version', '--json'], { env: unreachableHost, program })
    expect(JSON.parse(stdout)).toEqual({ name: program.name, version })
  }
})

test('a command says the same in words, and the token once', async () => {
  await using machine = await openHost()

  expect((await machine.run(['add-user', ...adaFlags])).stdout).toBe('User ada is added, with the id 2.\n')
  const { stdout, stderr } = await machine.run(['token', '--email', 'ADA@example.org', '--name', 'laptop'])
  expect(stdout.match(/svc_1_[0-9A-Za-z]{46}/g)).toHaveLength(1)
  expect(stderr).toBe('')
})

test('a command logs its work on tokens to standard error, without any token', async () => {
  await using machine = await openHost({ LOG_LEVEL: 'info' })
  await machine.run(['add-user', ...adaFlags])

  const made = await machine.run(['token', '--username', 'ada', '--name', 'laptop', '--json'])
  const revoked = await machine.run(['token', '--revoke', '--username', 'ada', '--token-id', '1', '--yes'])

  expect(JSON.parse(made.stdout)).toMatchObject({ id: 1 })
  const line = { level: 30, by: 'host', tokenId: 1, userId: 2 }
  expect(JSON.parse(made.stderr)).toMatchObject({ ...line, msg: 'a token was made' })
  expect(JSON.parse(revoked.stderr)).toMatchObject({ ...line, msg: 'a token was revoked' })
  expect(made.stderr).not.toMatch(/svc_|laptop/)
})

test('a command lists, synchronises and checks models', async () => {
  await using machine = await openHost()

  expect(await machine.json('models', 'list')).toEqual([])
  expect(await machine.json('models', 'sync')).toMatchObject({ providers: 1, models: 1, deactivated: [] })
  expect(await machine.json('models', 'list')).toMatchObject([{ modelId: 'demo', provider: 'demo', active: true }])
  expect(await machine.json('models', 'check')).toMatchObject([{ modelId: 'demo', status: 'online' }])
  expect((await machine.run(['models', 'list'])).stdout).toMatch(/^modelId +label .*\ndemo +Demo \(not an AI\)/)
})

test('a command reports the usage of everybody in a period', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  await machine.rows(`insert into usage_records (user_id, context, provider, model, input_tokens, output_tokens,
      outcome, duration_ms, cost_micros, currency, request_id, created_at)
    values (2, 'api', 'demo', 'demo', 7, 3, 'completed', 5, 12, 'EUR', 'r1', '2026-03-01T23:59:59Z'),
           (2, 'api', 'demo', 'demo', 7, 3, 'completed', 5, 12, 'EUR', 'r2', '2026-03-01T00:00:00Z'),
           (null, 'api', 'demo', 'demo', 1, 1, 'failed', 5, null, null, 'r3', '2026-03-01T12:00:00Z'),
           (2, 'api', 'demo', 'demo', 7, 3, 'completed', 5, 12, 'EUR', 'r4', '2026-03-02T00:00:00Z')`)

  const report = await machine.json('usage', '--from', '2026-03-01', '--to', '2026-03-01')

  expect(report).toMatchObject([
    { username: 'ada', model: 'demo', outcome: 'completed', requests: 2, inputTokens: 14, costMicros: 24 },
    { username: null, outcome: 'failed', requests: 1, costMicros: null },
  ])
  expect(await machine.json('usage', '--from', '2026-03-03', '--to', '2026-03-03')).toEqual([])
})

test('a report of usage fits 80 columns, and tells money in its currency', async () => {
  await using machine = await openHost()
  const model = 'a-model-with-a-long-name/'.repeat(4)
  await machine.run(['add-user', ...adaFlags])
  await machine.rows(`insert into usage_records (user_id, context, provider, model, input_tokens, output_tokens,
      outcome, duration_ms, cost_micros, currency, request_id, created_at)
    values (2, 'api', 'a provider with a name', '${model}', 12345678, 98765432, 'completed', 5, 4295000012, 'EUR', 'r1', '2026-03-01'),
           (2, 'api', 'demo', 'demo', 7, 3, 'failed', 5, null, null, 'r2', '2026-03-01')`)
  const period = ['--from', '2026-03-01', '--to', '2026-03-01']
  const tables = [await machine.run(['usage', ...period]), await machine.run(['usage', '--by', 'model', ...period])]

  for (const { exitCode, stdout } of tables) {
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^\w+ .*requests +input +output +cost$/m)
    expect(stdout).toMatch(/a-m.*… .* 4295\.000012 EUR$/m)
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
  }
  expect((await machine.json('usage', '--by', 'model', ...period))[0]).toMatchObject({
    model,
    costMicros: 4_295_000_012,
  })
})

test('revoking refuses an id that the person has no token of, before it asks', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  await machine.run(['token', '--username', 'ada', '--name', 'laptop'])
  const chosen = await machine.run(['token', '--revoke', '--username', 'ada'], {
    typing: [
      ['the id of the token', '99\r'],
      ['must be one of the list', `${terminalKeys.ctrlC}`],
    ],
  })
  const given = await machine.run(['token', '--revoke', '--username', 'ada', '--token-id', '99'], { typing: [] })

  expect(chosen.stderr).toContain('Nothing was changed.')
  expect(given).toMatchObject({ exitCode: 1, stderr: 'There is no token 99 of this user.\n' })
  expect(await machine.rows('select id from access_tokens')).toHaveLength(1)
})

test('a command migrates an empty database, and says so once', async () => {
  await using database = await createEmptyDatabase()
  await using machine = await openHost()
  const env = { ...machine.env, DATABASE_URL: database.url }

  const first = JSON.parse((await runCommand(['migrate', '--json'], { env })).stdout)
  const second = JSON.parse((await runCommand(['migrate', '--json'], { env })).stdout)

  expect(first.applied[0]).toMatch(/^Migration\d+/)
  expect(second).toEqual({ applied: [] })
})

test('a command helps without a database, by every name', async () => {
  const help = (...argv: string[]) => runCommand([...argv, '--help'], { env: unreachableHost })

  expect(await help()).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringContaining('set-role') })
  expect((await help('token')).stdout).toContain('--token-id')
  expect(await runCommand(['help', 'token'], { env: unreachableHost })).toEqual(await help('token'))
  expect(await runCommand(['help'], { env: unreachableHost })).toEqual(await help())
  expect((await help('models')).stdout).toContain('svc models <command>')
  expect((await help('models', 'check')).stdout).toContain('svc models check')
})
