import { beforeAll, expect, test } from 'vitest'
import { adaFlags, openHost } from '../kit/command-line.ts'
import { shareResource } from '../kit/share-resource.ts'

const machine = shareResource(openHost)
beforeAll(async () => {
  await machine.run(['add-user', ...adaFlags])
  await machine.run(['add-user', '--username', 'bob', '--email', 'bob@example.org', '--name', 'Bob'])
})

const stateOf = async (column: string, id = 2) =>
  (await machine.rows(`select ${column} from users where id = ${id}`))[0]

test('a command disables a person with their sessions, and enables them again', async () => {
  await machine.rows(
    `insert into sessions (hash, user_id, method, signed_in_at, renewed_at, csrf_token) values ('h', 2, 'password', now(), now(), 'c')`,
  )

  expect(await machine.json('disable-user', '--username', 'ada')).toEqual({ id: 2, username: 'ada', disabled: true })
  expect(await machine.rows('select hash from sessions')).toEqual([])
  expect(await machine.json('users', 'show', '--id', '2')).toMatchObject({ disabled: true })
  expect((await machine.run(['enable-user', '--email', 'ada@example.org'])).stdout).toBe('User ada is enabled.\n')
  expect(await stateOf('disabled')).toEqual({ disabled: false })
})

test('a command lists people by role and state, a hundred at a time', async () => {
  const of = async (...flags: string[]) => {
    const listed = await machine.json('users', ...flags)
    return listed.map(({ username, state }: Record<string, string>) => `${username} ${state}`)
  }
  await machine.run(['set-role', '--id', '3', '--role', 'admin'])
  await machine.run(['disable-user', '--id', '3'])
  expect(await of('--role', 'admin')).toEqual(['bob disabled'])
  expect(await of('--search', 'ADA')).toEqual(['ada registering'])
  await machine.rows(
    `insert into users (username, email, name) select 'many' || n, n || '@many.example', 'Many' from generate_series(1, 101) n`,
  )

  expect(await of('--search', 'many')).toHaveLength(100)
  expect((await machine.run(['users', '--search', 'many'])).stdout).toContain(
    'There are more: --page 2 shows the next.',
  )
  expect(await of('--search', 'many', '--page', '2')).toEqual(['many99 registering'])
  expect(await machine.run(['users', '--page', '0'])).toMatchObject({
    exitCode: 2,
    stderr: '--page must be at least 1.\n',
  })
})

test('a command renames a person, unless somebody else has the name', async () => {
  expect((await machine.run(['rename-user', '--username', 'bob', '--to', 'Rob'])).stdout).toBe(
    'The user with the id 3 is called rob.\n',
  )
  expect(await machine.json('rename-user', '--id', '3', '--to', 'bob')).toEqual({ id: 3, username: 'bob' })

  const refused = await machine.run(['rename-user', '--id', '3', '--to', 'ada'])
  expect(refused).toEqual({ exitCode: 1, stdout: '', stderr: expect.stringContaining('this username') })
  expect(await stateOf('username', 3)).toEqual({ username: 'bob' })
})

test('a command binds a person to a subject, or to the next sign-in', async () => {
  const subject = 'oidc:https://idp.example.org 0-17'

  expect(await machine.json('bind-user', '--id', '2', '--subject', subject)).toEqual({
    id: 2,
    username: 'ada',
    subject,
  })
  expect(await machine.json('users', 'show', '--id', '2')).toMatchObject({ subject })
  expect(await machine.run(['bind-user', '--id', '3', '--subject', subject])).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'Another user is bound to this subject already.\n',
  })
  expect((await machine.run(['bind-user', '--id', '2'])).stdout).toContain('the next sign-in with the username')
  expect(await stateOf('subject')).toEqual({ subject: null })
})

test.for([
  [['bind-user', '--id', '2', '--subject', 'ada'], 2, '--subject must begin with local:, ldap:, oidc: or proxy:'],
  [['bind-user', '--id', '2', '--subject', `ldap:${'x'.repeat(600)}`], 2, '--subject must have at most 600'],
  [['rename-user', '--id', '2', '--to', 'a b'], 2, '--to must start with a letter'],
  [['rename-user', '--id', '2'], 2, '--to is missing'],
  [['rename-user', '--id', '1', '--to', 'robot'], 1, 'The AI user stays as it is.'],
  [['disable-user', '--id', '1'], 1, 'The AI user stays as it is.'],
  [['bind-user', '--id', '1'], 1, 'The AI user stays as it is.'],
  [['disable-user', '--username', 'nobody'], 1, 'There is no user with the username nobody.'],
  [['enable-user'], 2, '--username, --email or --id is missing'],
] as const)('%j is refused with a reason', async ([argv, exitCode, reason]) => {
  expect(await machine.run([...argv])).toEqual({ exitCode, stdout: '', stderr: expect.stringContaining(reason) })
})

test('a password makes a local account only for a person without another source', async () => {
  const set = () => machine.run(['set-password', '--id', '2', '--password-stdin'], { piped: 'correct horse' })
  await machine.run(['bind-user', '--id', '2', '--subject', 'ldap:4711'])

  expect(await set()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('ada signs in by ldap') })
  await machine.run(['bind-user', '--id', '2'])
  expect(await set()).toMatchObject({ exitCode: 0 })

  expect(await stateOf('subject')).toEqual({ subject: expect.stringMatching(/^local:[\da-f-]{36}$/) })
})
