import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verify } from '@node-rs/argon2'
import { describe, expect, test } from 'vitest'
import { svc, svcConsole } from '../../cli/programs.ts'
import manifest from '../../package.json' with { type: 'json' }
import { readAccounts } from '../../server/login/accounts.ts'
import { ada, host, run } from '../kit/command-line.ts'
import { emptyDatabase } from '../kit/database.ts'

const { version } = manifest

/** Nothing listens there: whoever gets this far and connects fails with 1. */
const unreachable = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', DATA_DIR: '/dev/null/none' }

describe('a command line that is wrong exits with 2 and opens no database', () => {
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
    ['--role:', 'add-user', '--username', 'ada', '--email', 'a@example.org', '--name', 'Ada', '--role', 'emperor'],
    ["Unknown option '--no-json'.", 'token', '--no-json'],
    ["'laptop' is one word too many.", 'token', 'laptop'],
    ["'b.png' is one word too many.", 'update-avatar', 'a.png', 'b.png'],
    ["Option '--name <value>' argument missing.", 'token', '--name'],
    ["Option '--name' argument is ambiguous.", 'token', '--name', '--yes'],
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
    ['--abilities:', 'token', '--id', '2', '--name', 'laptop', '--abilities', 'ai,fly'],
    ['--abilities:', 'token', '--id', '2', '--name', 'laptop', '--abilities', ''],
    ['--expires needs a unit', 'token', '--id', '2', '--name', 'laptop', '--expires', '90'],
    ['--expires:', 'token', '--id', '2', '--name', 'laptop', '--expires', 'soon'],
    ['--expires:', 'token', '--id', '2', '--name', 'laptop', '--expires=-1d'],
    ['--expires must be at most', 'token', '--id', '2', '--name', 'laptop', '--expires', '101y'],
    ['--token-id goes with --revoke.', 'token', '--id', '2', '--name', 'laptop', '--token-id', '3'],
    ['--name does not go with --revoke.', 'token', '--revoke', '--id', '2', '--name', 'laptop'],
    ['--token-id is missing.', 'token', '--revoke', '--id', '2', '--yes'],
    ['--token-id must be a number.', 'token', '--revoke', '--id', '2', '--yes', '--token-id', 'laptop'],
    ['--yes is missing.', 'token', '--revoke', '--id', '2', '--token-id', '3'],
    ['--yes is missing.', 'remove-user', '--id', '2'],
    ['--email is missing.', 'add-user', '--username', 'ada'],
    ['--email must be an e-mail address.', 'add-user', '--username', 'ada', '--email', 'ada', '--name', 'Ada'],
    [
      '--username must start with',
      'add-user',
      '--username',
      'Ada Example',
      '--email',
      'a@example.org',
      '--name',
      'Ada',
    ],
    ['--name must not be empty.', 'add-user', '--username', 'ada', '--email', 'a@example.org', '--name', ''],
    ['--role:', 'set-role', '--username', 'ada', '--role', 'emperor'],
    ['--role is missing.', 'set-role', '--username', 'ada'],
    ['PATH is missing.', 'update-avatar'],
  ])('%s', async ([says, ...argv]) => {
    const plain = await run(argv, { env: unreachable })
    const json = await run([...argv, '--json'], { env: unreachable })

    expect(plain).toMatchObject({ exitCode: 2, stdout: '' })
    expect(plain.stderr).toContain(says)
    expect(json.exitCode).toBe(2)
    expect(JSON.parse(json.stdout)).toEqual({ error: { code: 'usage', message: expect.any(String) } })
  })

  test('a day that is none', async () => {
    await using machine = await host()

    expect(await machine.run(['usage', '--from', '2026-02-30'])).toMatchObject({
      exitCode: 2,
      stderr: '--from must be a day such as 2026-01-31.\n',
    })
    expect(await machine.run(['usage', '--from', '2026-02-02', '--to', '2026-02-01'])).toMatchObject({ exitCode: 2 })
  })

  test('a command line that is wrong exits with 2 and opens no database names that svc-console does not have', async () => {
    expect(await run(['token'], { env: unreachable, program: svcConsole })).toMatchObject({ exitCode: 2 })
    expect(await run(['app:token'], { env: unreachable, program: svcConsole })).toMatchObject({
      exitCode: 2,
      stderr: '--username, --email or --id is missing.\n',
    })
  })
})

describe('what is refused exits with 1 and changes nothing', () => {
  test('an unknown user', async () => {
    await using machine = await host()

    const { exitCode, stdout } = await machine.run(['token', '--username', 'ada', '--name', 'laptop', '--json'])

    expect(exitCode).toBe(1)
    expect(JSON.parse(stdout)).toEqual({
      error: { code: 'not_found', message: 'There is no user with the username ada.' },
    })
  })

  test('a username or an address that is taken, however it is written', async () => {
    await using machine = await host()
    await machine.run(['add-user', ...ada])

    const sameName = await machine.run(['add-user', '--username', 'ADA', '--email', 'b@example.org', '--name', 'B'])
    const sameEmail = await machine.run(['add-user', '--username', 'b', '--email', 'Ada@Example.org', '--name', 'B'])

    expect(sameName).toMatchObject({ exitCode: 1, stdout: '' })
    expect(sameEmail).toMatchObject({ exitCode: 1, stdout: '' })
    expect(await machine.rows('select username from users order by id')).toMatchObject([{}, { username: 'ada' }])
  })

  test.for([
    [['token', '--id', '1', '--name', 'laptop'], 'The AI user gets no token.'],
    [['set-role', '--id', '1', '--role', 'admin'], 'The AI user has no role.'],
    [['set-password', '--id', '1', '--password-stdin'], 'The AI user has no password.'],
    [['remove-user', '--id', '1', '--yes'], 'The AI user cannot be removed.'],
  ] as const)('the AI user: $0', async ([argv, message]) => {
    await using machine = await host()

    expect(await machine.run([...argv], { piped: 'correct horse\n' })).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `${message}\n`,
    })
  })

  test('an account of the example in production, where it could not sign in, but not the person without one', async () => {
    const own = 'cm9vbSB0ZW1wZXJhdHVyZSBpcyBmaW5lIGZvciBtZQ'
    const secrets = [
      'APP_KEY',
      'USERDATA_ENCRYPTION_SALT',
      'INVITATION_SALT',
      'AI_CRYPTO_SALT',
      'PASSKEY_SALT',
      'BACKUP_SALT',
    ]
    await using machine = await host({
      NODE_ENV: 'production',
      AI_CONFIG: 'ai.yaml',
      AUTHENTICATION_METHOD: 'local',
      ACCOUNTS_FILE: join(tmpdir(), `accounts-${randomUUID()}.json`),
      ...Object.fromEntries(secrets.map((name) => [name, own])),
    })

    const refused = await machine.run(['add-user', ...ada, '--password-stdin'], { piped: 'correct horse' })

    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('example.org') })
    expect(await machine.rows('select id from users where id > 1')).toEqual([])
    expect(await machine.run(['add-user', ...ada])).toMatchObject({ exitCode: 0 })
  })

  test('a token of somebody else, and one that is revoked already', async () => {
    await using machine = await host()
    await machine.run(['add-user', ...ada])
    await machine.run(['add-user', '--username', 'bob', '--email', 'bob@example.org', '--name', 'Bob'])
    const { id } = await machine.json('token', '--username', 'ada', '--name', 'laptop')
    const revoke = (username: string) =>
      machine.run(['token', '--revoke', '--username', username, '--token-id', `${id}`, '--yes'])

    expect(await revoke('bob')).toEqual({ exitCode: 1, stdout: '', stderr: `There is no token ${id} of this user.\n` })
    expect(await revoke('ada')).toEqual({ exitCode: 0, stdout: `Token ${id} is revoked.\n`, stderr: '' })
    expect(await revoke('ada')).toMatchObject({ exitCode: 1, stdout: '' })
  })

  test('a database that does not answer, and settings that are not valid', async () => {
    await using machine = await host()

    expect(await run(['models', 'list'], { env: { ...machine.env, DATABASE_URL: unreachable.DATABASE_URL } })).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringContaining('ECONNREFUSED'),
    })
    const invalid = await run(['models', 'list', '--json'], { env: { ...machine.env, PORT: 'http' } })
    expect(invalid.exitCode).toBe(1)
    expect(JSON.parse(invalid.stdout).error.message).toContain('PORT')
  })

  test('a configuration of models that is not valid', async () => {
    await using machine = await host()
    const file = join(machine.folder, 'ai.yaml')
    await writeFile(file, 'providers: 3\n')

    const { exitCode, stderr } = await run(['models', 'sync'], { env: { ...machine.env, AI_CONFIG: file } })

    expect(exitCode).toBe(1)
    expect(stderr).toContain('line 1, providers')
  })
})

describe('what is done exits with 0', () => {
  test('a command prints exactly the documented JSON', async () => {
    await using machine = await host()

    const added = await machine.json('add-user', ...ada)
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
    await using machine = await host()
    const flags = ['--role', 'admin', '--password-stdin', '--json']

    const added = await machine.run(['add-user', ...ada, ...flags], { piped: 'correct horse\n' })
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
    await using machine = await host()
    await machine.run(['add-user', ...ada])
    await machine.run(['add-user', '--username', 'bob', '--email', 'bob@example.org', '--name', '100% Bob'])
    await machine.run(['token', '--username', 'ada', '--name', 'laptop'])
    const names = async (...argv: string[]) =>
      (await machine.json('users', ...argv)).map(({ username }: { username: string }) => username)

    expect(await names()).toEqual(['ada', 'bob', 'svc'])
    expect(await names('list')).toEqual(['ada', 'bob', 'svc'])
    expect(await names('--search', 'EXAMPLE.ORG')).toEqual(['ada', 'bob'])
    expect(await names('--search', '0% b')).toEqual(['bob'])
    expect(await names('--search', '_')).toEqual([])
    expect((await machine.run(['users'])).stdout).toMatch(/^id +username +name +email +role\n2 +ada +Ada Example/)
    expect(await machine.json('users', 'show', '--username', 'ada')).toEqual({
      id: 2,
      username: 'ada',
      name: 'Ada Example',
      email: 'ada@example.org',
      role: 'user',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      hasKeys: false,
      tokens: 1,
      tokenUsedAt: null,
      localAccount: false,
    })
  })

  test('a command lists the tokens of a user, expired ones too, by both programs', async () => {
    await using machine = await host()
    await machine.run(['add-user', ...ada])
    expect((await machine.run(['token', '--list', '--id', '2'])).stdout).toBe('This user has no tokens.\n')
    for (const name of ['laptop', 'phone']) await machine.run(['token', '--username', 'ada', '--name', name])
    await machine.rows(`update access_tokens set expires_at = now() where name = 'phone'`)

    const listed = await machine.json('token', '--list', '--username', 'ada')
    const inWords = await machine.run(['app:token', '--list', '--username', 'ada'], { program: svcConsole })

    expect(listed).toMatchObject([
      { id: 1, name: 'laptop', abilities: ['ai', 'user', 'read'] },
      { id: 2, name: 'phone' },
    ])
    expect(inWords.stdout).toMatch(/^1 +laptop +ai,user,read +\d{4}-\d\d-\d\d \d\d:\d\d +- +-$/m)
  })

  test('a command helps in lines of at most 80 columns', async () => {
    for (const argv of [['--help'], ['token', '--help'], ['add-user', '--help'], ['usage', '--help']]) {
      const { stdout } = await run(argv, { env: unreachable })
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    }
  })

  test('a command tells its version, by both programs', async () => {
    for (const program of [svc, svcConsole]) {
      expect(await run(['--version'], { env: unreachable, program })).toEqual({
        exitCode: 0,
        stdout: `${version}\n`,
        stderr: '',
      })
      const { stdout } = await run(['--version', '--json'], { env: unreachable, program })
      expect(JSON.parse(stdout)).toEqual({ name: program.name, version })
    }
  })

  test('a command says the same in words, and the token once', async () => {
    await using machine = await host()

    expect((await machine.run(['add-user', ...ada])).stdout).toBe('User ada is added, with the id 2.\n')
    const { stdout, stderr } = await machine.run(['token', '--email', 'ADA@example.org', '--name', 'laptop'])
    expect(stdout.match(/svc_1_[0-9A-Za-z]{46}/g)).toHaveLength(1)
    expect(stderr).toBe('')
  })

  test('lists, synchronises and checks models', async () => {
    await using machine = await host()

    expect(await machine.json('models', 'list')).toEqual([])
    expect(await machine.json('models', 'sync')).toMatchObject({ providers: 1, models: 1, deactivated: [] })
    expect(await machine.json('models', 'list')).toMatchObject([{ modelId: 'demo', provider: 'demo', active: true }])
    expect(await machine.json('models', 'check')).toMatchObject([{ modelId: 'demo', status: 'online' }])
    expect((await machine.run(['models', 'list'])).stdout).toMatch(/^modelId +label .*\ndemo +Demo \(not an AI\)/)
  })

  test('a command reports the usage of everybody in a period', async () => {
    await using machine = await host()
    await machine.run(['add-user', ...ada])
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

  test('a command migrates an empty database, and says so once', async () => {
    await using database = await emptyDatabase()
    await using machine = await host()
    const env = { ...machine.env, DATABASE_URL: database.url }

    const first = JSON.parse((await run(['migrate', '--json'], { env })).stdout)
    const second = JSON.parse((await run(['migrate', '--json'], { env })).stdout)

    expect(first.applied[0]).toMatch(/^Migration\d+/)
    expect(second).toEqual({ applied: [] })
  })

  test('a command helps without a database, by every name', async () => {
    const help = (...argv: string[]) => run([...argv, '--help'], { env: unreachable })

    expect(await help()).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringContaining('set-role') })
    expect((await help('token')).stdout).toContain('--token-id')
    expect(await run(['help', 'token'], { env: unreachable })).toEqual(await help('token'))
    expect(await run(['help'], { env: unreachable })).toEqual(await help())
    expect((await help('models')).stdout).toContain('svc models list|sync|check')
    expect((await help('models', 'check')).stdout).toContain('svc models check')
  })
})

test('svc settings shows every setting with what holds, and of a secret only that it is set', async () => {
  const env = { ...unreachable, PORT: '4000', APP_KEY: 'CANARY-KEY' }

  const { exitCode, stdout } = await run(['settings', '--json'], { env })

  expect(exitCode).toBe(0)
  const row = (name: string) => JSON.parse(stdout).find((each: { name: string }) => each.name === name)
  expect(row('PORT')).toEqual({
    name: 'PORT',
    type: 'integer',
    default: '3000',
    secret: false,
    value: '4000',
    meaning: expect.stringContaining('Port'),
  })
  expect(row('HOST').value).toBe('127.0.0.1')
  expect(row('DATABASE_URL').value).toBe('********')
  expect(stdout + (await run(['settings'], { env })).stdout).not.toMatch(/CANARY|nobody@/)
})

test('svc settings works when the settings do not', async () => {
  const { exitCode, stdout } = await run(['settings'], { env: { PORT: 'http', NODE_ENV: 'production' } })

  expect(exitCode).toBe(0)
  expect(stdout).toMatch(/^PORT=http\n {4}Port to listen on; 0 takes a free one. integer \(default 3000\)$/m)
})

test('svc settings fits into 80 columns', async () => {
  const { stdout } = await run(['settings'], { env: {} })

  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
})
