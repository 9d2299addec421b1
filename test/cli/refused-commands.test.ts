import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adaFlags, openHost, runCommand, unreachableHost } from '../kit/command-line.ts'

test('a command for an unknown user exits with 1', async () => {
  await using machine = await openHost()

  const { exitCode, stdout } = await machine.run(['token', '--username', 'ada', '--name', 'laptop', '--json'])

  expect(exitCode).toBe(1)
  expect(JSON.parse(stdout)).toEqual({
    error: { code: 'not_found', message: 'There is no user with the username ada.' },
  })
})

test('a user is not added with a taken username or address in any case', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])

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
] as const)('a command for the AI user is refused: $0', async ([argv, message]) => {
  await using machine = await openHost()

  expect(await machine.run([...argv], { piped: 'correct horse\n' })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `${message}\n`,
  })
})

test('a user is not added in production with an account of the example', async () => {
  const own = 'cm9vbSB0ZW1wZXJhdHVyZSBpcyBmaW5lIGZvciBtZQ'
  const secrets = [
    'APP_KEY',
    'USERDATA_ENCRYPTION_SALT',
    'INVITATION_SALT',
    'AI_CRYPTO_SALT',
    'PASSKEY_SALT',
    'BACKUP_SALT',
  ]
  await using machine = await openHost({
    NODE_ENV: 'production',
    AI_CONFIG: 'ai.yaml',
    AUTHENTICATION_METHOD: 'local',
    ACCOUNTS_FILE: join(tmpdir(), `accounts-${randomUUID()}.json`),
    ...Object.fromEntries(secrets.map((name) => [name, own])),
  })

  const refusal = await machine.run(['add-user', ...adaFlags, '--password-stdin'], { piped: 'correct horse' })

  expect(refusal).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('example.org') })
  expect(await machine.rows('select id from users where id > 1')).toEqual([])
  expect(await machine.run(['add-user', ...adaFlags])).toMatchObject({ exitCode: 0 })
})

test('a token is not revoked where it is somebody else’s or revoked already', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  await machine.run(['add-user', '--username', 'bob', '--email', 'bob@example.org', '--name', 'Bob'])
  const { id } = await machine.json('token', '--username', 'ada', '--name', 'laptop')
  const revoke = (username: string) =>
    machine.run(['token', '--revoke', '--username', username, '--token-id', `${id}`, '--yes'])

  expect(await revoke('bob')).toEqual({ exitCode: 1, stdout: '', stderr: `There is no token ${id} of this user.\n` })
  expect(await revoke('ada')).toEqual({ exitCode: 0, stdout: `Token ${id} is revoked.\n`, stderr: '' })
  expect(await revoke('ada')).toMatchObject({ exitCode: 1, stdout: '' })
})

test('a command exits with 1 without the database or with invalid settings', async () => {
  await using machine = await openHost()

  expect(
    await runCommand(['models', 'list'], { env: { ...machine.env, DATABASE_URL: unreachableHost.DATABASE_URL } }),
  ).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringContaining('ECONNREFUSED'),
  })
  const invalid = await runCommand(['models', 'list', '--json'], { env: { ...machine.env, PORT: 'http' } })
  expect(invalid.exitCode).toBe(1)
  expect(JSON.parse(invalid.stdout).error.message).toContain('PORT')
})

test('models are not synchronised from an invalid configuration, whose line is named', async () => {
  await using machine = await openHost()
  const file = join(machine.folder, 'ai.yaml')
  await writeFile(file, 'providers: 3\n')

  const { exitCode, stderr } = await runCommand(['models', 'sync'], { env: { ...machine.env, AI_CONFIG: file } })

  expect(exitCode).toBe(1)
  expect(stderr).toContain('line 1, providers')

  const servers = ['https://a.example/mcp', 'https://b.example/mcp', 'https://A.example:443/mcp']
  const entries = servers.map((url, n) => `  - {label: L${n}, url: "${url}"}\n`)
  await writeFile(file, `providers: []\nmcpServers:\n${entries.join('')}`)
  const twice = await runCommand(['models', 'sync'], { env: { ...machine.env, AI_CONFIG: file } })
  expect(twice.stderr).toContain('line 5, mcpServers.2: has the address of mcpServers.0')

  const personal = `{label: L, url: "${servers[0]}", account: person, apiKey: k, headers: {X-Api-Key: k}}`
  await writeFile(file, `providers: []\nmcpServers:\n  - ${personal}\n`)
  const mixed = await runCommand(['models', 'sync'], { env: { ...machine.env, AI_CONFIG: file } })
  expect(mixed.stderr).toContain('mcpServers.0.apiKey: must be absent with the account person')
  expect(mixed.stderr).toContain('mcpServers.0.headers.X-Api-Key: must be absent')
})
