import { expect, test } from 'vitest'
import { generateSecret, writeToken } from '../../entities/identity/token-format.ts'
import { adaFlags, openHost } from '../kit/command-line.ts'

async function openHostWithToken() {
  const machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  const { token } = await machine.json('token', '--username', 'ada', '--name', 'laptop')
  return Object.assign(machine, { token: String(token) })
}

test('a command finds whose a piped token is, and says how to revoke it', async () => {
  await using machine = await openHostWithToken()

  for (const piped of [machine.token, machine.token.slice(0, 12), 'svc_1_\n']) {
    const { exitCode, stdout, stderr } = await machine.run(['token', '--find'], { piped })
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^name +laptop$/m)
    expect(stdout).toMatch(/^username +ada$/m)
    expect(stdout).toMatch(/^abilities +ai,user,read$/m)
    expect(stdout).toMatch(/^lastUsedAt +-$/m)
    expect(stdout).toContain('To revoke it: svc token --revoke --id 2 --token-id 1')
    expect(stdout).not.toContain(machine.token.slice(6))
  }
})

test('a command revokes a found token, after the person agrees or with a flag', async () => {
  await using machine = await openHostWithToken()

  expect(await machine.run(['token', '--find', '--revoke'], { piped: machine.token })).toMatchObject({
    exitCode: 2,
    stderr: '--yes is missing.\n',
  })
  const typed = await machine.run(['token', '--find', '--revoke'], {
    typing: [
      ['Paste the token', `${machine.token}\r`],
      ['Revoke token 1?', 'n'],
    ],
  })
  expect(typed).toMatchObject({ exitCode: 1 })
  expect(typed.stderr).not.toContain(machine.token.slice(6))
  const revoked = await machine.run(['token', '--find', '--revoke', '--yes'], { piped: machine.token })
  expect(revoked.stdout).toBe('Token 1 is revoked.\n')
  expect(await machine.rows('select id from access_tokens')).toEqual([])

  const again = await machine.run(['token', '--find'], { piped: machine.token })
  expect(again.exitCode).toBe(1)
  expect(again.stderr).toMatch(/There is no token with this id/)
  const audited = JSON.stringify(await machine.rows('select * from audit_entries'))
  expect(audited).toContain('tokens.revokeFor')
  expect(audited).not.toContain(machine.token.slice(6))
})

test('a command tells an app by its credential, and how to replace that', async () => {
  await using machine = await openHost()
  const { credential } = await machine.json('app', 'create', '--name', 'Portal', '--url', 'https://portal.example')

  const { stdout } = await machine.run(['token', '--find'], { piped: credential })
  expect(stdout).toMatch(/^appName +Portal$/m)
  expect(stdout).toContain('svc app rotate 1 --overlap 0')
  expect(await machine.run(['token', '--find', '--revoke', '--yes'], { piped: credential })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('svc app rotate 1 --overlap 0'),
  })
})

test('a command says of other text that it is no token, without repeating it', async () => {
  await using machine = await openHost()
  for (const piped of ['ghp_0123456789abcdef', 'svc_1', `${writeToken({ id: 1, secret: generateSecret() })}x`]) {
    const { exitCode, stderr } = await machine.run(['token', '--find'], { piped })
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^This is no token of this service\./)])
    expect(stderr).not.toContain(piped)
  }
})
