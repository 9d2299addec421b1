import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { verify } from '@node-rs/argon2'
import { expect, test } from 'vitest'
import { svcConsole } from '../../cli/programs.ts'
import { readAccounts } from '../../server/login/accounts.ts'
import { adaFlags, openHost, runCommand, type TypedInput, terminalKeys } from '../kit/command-line.ts'
import { proxyHeaders } from '../kit/identity/sessions.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'

const { enter, down, ctrlC } = terminalKeys
const byUsername: TypedInput[] = [
  ['Choose the identification method', enter],
  ['Enter the identification value (username)', `ada${enter}`],
]

test('mcp approve asks about each waiting tool, and reports which were approved', async () => {
  await using machine = await openHost()
  await using server = await startToolServer([buildTool('one'), buildTool('two'), buildTool('three')])
  const file = join(machine.folder, 'ai.json')
  const url = `${server.url}?key=SECRET`
  await writeFile(file, JSON.stringify({ providers: [], mcpServers: [{ label: 'Tools', url }] }))
  const env = { ...machine.env, AI_CONFIG: file }
  await runCommand(['models', 'sync'], { env })
  await runCommand(['mcp', 'sync'], { env })
  const approve = (...answers: string[]) =>
    runCommand(['mcp', 'approve'], {
      env,
      typing: answers.map((types): TypedInput => ['May models call', types]),
    })

  const left = await approve('y', ctrlC)
  expect([left.exitCode, left.stderr]).toEqual([
    1,
    expect.stringContaining('These were approved before that: tools_one.'),
  ])
  const answered = await approve('n', 'y')
  expect([answered.exitCode, answered.stdout]).toEqual([0, 'Approved: tools_three.\nAs before: tools_two.\n'])
  const { stdout } = await runCommand(['mcp', 'list', '--json'], { env })
  expect(JSON.parse(stdout)).toMatchObject([
    { label: 'Tools', address: server.url, status: 'online', protocolVersion: '2026-07-28', tools: 3, active: 2 },
  ])
})

test('app:token tells that there is no such user before it asks for more', async () => {
  await using machine = await openHost()

  const result = await machine.run(['app:token'], { program: svcConsole, typing: byUsername })

  expect(result).toMatchObject({ exitCode: 1, stdout: '' })
  expect(result.stderr).toContain('There is no user with the username ada.')
  expect(result.stderr).not.toContain('Enter a token name')
})

test('app:token asks again for too long a name and for an invalid id', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])

  const result = await machine.run(['app:token'], {
    program: svcConsole,
    typing: [
      ['Choose the identification method', down + down + enter],
      ['Enter the identification value (user id)', `2x${enter}`],
      ['must be a number', `\x7f${enter}`],
      ['Enter a token name of at most 16 characters', `seventeen letters${enter}`],
      ['must have at most 16 characters', `\x7f${enter}`],
    ],
  })

  expect(result.exitCode).toBe(0)
  expect(result.stdout).toMatch(/svc_1_[0-9A-Za-z]{46}/)
})

test('app:token prints the token once on standard output, apart from the questions', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])

  const { exitCode, stdout, stderr } = await machine.run(['app:token'], {
    program: svcConsole,
    typing: [
      ['Choose the identification method', down + enter],
      ['Enter the identification value (email address)', `ada@example.org${enter}`],
      ['Enter a token name of at most 16 characters', `laptop${enter}`],
    ],
  })

  expect(exitCode).toBe(0)
  expect(stdout.match(/svc_\d+_[0-9A-Za-z]{46}/g)).toHaveLength(1)
  expect(stderr).not.toContain('svc_')
})

test.for([['the first', 0] as const, ['the last', 2] as const])(
  'app:token ends at Ctrl-C at %s question',
  async ([, at]) => {
    await using machine = await openHost()
    await machine.run(['add-user', ...adaFlags])
    const questions: TypedInput[] = [...byUsername, ['Enter a token name of at most 16 characters', enter]]
    const typing = questions
      .slice(0, at + 1)
      .map(([sees, types], index): TypedInput => [sees, index === at ? ctrlC : types])

    const result = await machine.run(['app:token'], { program: svcConsole, typing })

    expect(result).toMatchObject({ exitCode: 1, stdout: '' })
    expect(result.stderr).toContain('Nothing was changed.')
  },
)

test('app:token asks only for what no flag gives, and prints one JSON document', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])

  const { stdout } = await machine.run(['token', '--username', 'ada', '--json'], {
    typing: [['Enter a token name of at most 16 characters', `laptop${enter}`]],
  })

  expect(JSON.parse(stdout)).toMatchObject({ id: 1, name: 'laptop' })
})

const revoke = ['app:token', '--revoke']
const tokenOf = (username: string, name: string) => ['token', '--username', username, '--name', name]

test('app:token --revoke tells that the user has no tokens', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])

  const result = await machine.run(revoke, { program: svcConsole, typing: byUsername })

  expect(result.exitCode).toBe(1)
  expect(result.stderr).toContain('This user has no tokens.')
})

test('app:token --revoke changes nothing when the answer is no', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  await machine.run(tokenOf('ada', 'laptop'))

  const result = await machine.run(revoke, {
    program: svcConsole,
    typing: [...byUsername, ['Enter the id of the token to revoke', `1${enter}`], ['Revoke token 1?', enter]],
  })

  expect(result).toMatchObject({ exitCode: 1, stdout: '' })
  expect(result.stderr).toContain('Nothing was changed.')
  const again = await machine.run(['token', '--revoke', '--id', '2', '--token-id', '1', '--yes'])
  expect(again.exitCode).toBe(0)
})

test('app:token --revoke tells the truth when somebody else was faster', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  await machine.run(tokenOf('ada', 'laptop'))
  const meanwhile = async () => {
    await machine.run(['token', '--revoke', '--username', 'ada', '--token-id', '1', '--yes'])
    return 'y'
  }

  const result = await machine.run(revoke, {
    program: svcConsole,
    typing: [...byUsername, ['Enter the id of the token to revoke', `1${enter}`], ['Revoke token 1?', meanwhile]],
  })

  expect(result).toMatchObject({ exitCode: 1, stdout: '' })
  expect(result.stderr).toContain('There is no token 1 of this user.')
})

test("app:token --revoke lists only the user's tokens, asks for one, confirms and revokes", async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  await machine.run(['add-user', '--username', 'bob', '--email', 'bob@example.org', '--name', 'Bob'])
  for (const name of ['laptop', 'phone']) await machine.run(tokenOf('ada', name))
  await machine.run([...tokenOf('ada', 'old'), '--expires', '1d'])
  await machine.rows(`update access_tokens set expires_at = now() - interval '1 second' where name = 'old'`)
  await machine.run(tokenOf('bob', 'notebook'))

  const result = await machine.run(revoke, {
    program: svcConsole,
    typing: [...byUsername, ['Enter the id of the token to revoke', `2${enter}`], ['Revoke token 2?', 'y']],
  })

  expect(result).toMatchObject({ exitCode: 0, stdout: 'Token 2 is revoked.\n' })
  expect(result.stderr).toMatch(/1 +laptop .*\n.*2 +phone .*\n.*3 +old /)
  expect(result.stderr).not.toContain('notebook')
})

test('app:removeuser shows the person, and removes nobody when the answer is no', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])

  const result = await machine.run(['app:removeuser'], {
    program: svcConsole,
    typing: [...byUsername, ['Remove ada (Ada Example, id 2)', 'n']],
  })

  expect(result).toMatchObject({ exitCode: 1, stdout: '' })
  expect((await machine.run(['token', '--id', '2', '--name', 'laptop'])).exitCode).toBe(0)
})

test('app:removeuser removes and says so in one sentence', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])

  const result = await machine.run(['app:removeuser'], {
    program: svcConsole,
    typing: [...byUsername, ['Remove ada (Ada Example, id 2)', 'y']],
  })

  expect(result.exitCode).toBe(0)
  expect(result.stdout).toBe('User ada is removed with everything they own.\n')
})

test('svc add-user and set-role ask for what is missing', async () => {
  await using machine = await openHost()

  const added = await machine.run(['add-user'], {
    typing: [
      ['Username', `ada${enter}`],
      ['Email address', `ada${enter}`],
      ['must be an e-mail address', `@example.org${enter}`],
      ['Display name', `Ada${enter}`],
      ['Password', enter],
    ],
  })
  const changed = await machine.run(['set-role', '--username', 'ada'], { typing: [['Choose the role', down + enter]] })

  expect(added).toMatchObject({ exitCode: 0, stdout: 'User ada is added, with the id 2.\n' })
  expect(changed).toMatchObject({ exitCode: 0, stdout: 'User ada has the role admin.\n' })
})

const typeTwice = (password: string, again = password): TypedInput[] => [
  ['assword', `${password}${enter}`],
  ['The same again', `${again}${enter}`],
]
const hashes = async (folder: string) => (await readAccounts(join(folder, 'accounts.json'))).map(({ hash }) => hash)

test('a password at a terminal is asked for without echo when adding users', async () => {
  await using machine = await openHost()

  const result = await machine.run(['add-user', ...adaFlags], { typing: typeTwice('correct horse') })

  expect(result).toMatchObject({ exitCode: 0, stdout: 'User ada is added, with the id 2.\n' })
  expect(result.stderr).not.toContain('correct horse')
  const [hash = ''] = await hashes(machine.folder)
  expect(await verify(hash, 'correct horse')).toBe(true)
})

test('a password at a terminal is not asked for where nobody signs in so', async () => {
  await using machine = await openHost({
    AUTHENTICATION_METHOD: 'proxy',
    PROXY_ADDRESSES: '127.0.0.1',
    ...proxyHeaders,
  })

  expect(await machine.run(['add-user', ...adaFlags], { typing: [] })).toMatchObject({ exitCode: 0 })
})

test.for([['--password-stdin'], []])(
  'a password at a terminal is typed twice for set-password %s until both match',
  async (flags) => {
    await using machine = await openHost()
    await machine.run(['add-user', ...adaFlags])

    const result = await machine.run(['set-password', '--username', 'ada', ...flags], {
      typing: [
        ['New password', `short${enter}`],
        ['must have at least 8 characters', `er one${enter}`],
        ['The same again', `another one${enter}`],
        ['are not the same', ''],
        ...typeTwice('correct horse'),
      ],
    })

    expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('signed out everywhere') })
    expect(await verify((await hashes(machine.folder))[0] ?? '', 'correct horse')).toBe(true)
  },
)

test('a password at a terminal is not asked for where the user is missing', async () => {
  await using machine = await openHost()

  const result = await machine.run(['set-password', '--username', 'ada'], { typing: [] })

  expect(result).toMatchObject({ exitCode: 1, stderr: 'There is no user with the username ada.\n' })
})
