import { expect, test } from 'vitest'
import { writeConfig } from '../kit/ai/provider.ts'
import { openHost, runCommand, unreachableHost } from '../kit/command-line.ts'
import { startOAuth, startPersonWithProgram, tryToken } from '../kit/oauth/program.ts'
import { productionSettings } from '../kit/production.ts'

const ON = { ALLOW_EXTERNAL_COMMUNICATION: 'true', ALLOW_USER_TOKEN_CREATION: 'true', OAUTH_CLIENTS: 'registered' }
const agent = ['--name', 'House agent', '--redirect', 'https://agent.example/back, http://127.0.0.1/back']

test('a command registers a program, rotates its secret, and blocks and allows it', async () => {
  await using machine = await openHost(ON)

  const registered = await machine.json('oauth', 'register', ...agent, '--secret')
  expect(registered).toEqual({
    id: expect.any(Number),
    clientId: expect.stringMatching(/^reg_\w{24}$/),
    clientSecret: expect.stringMatching(/^\w{40,}$/),
  })
  const id = String(registered.id)
  const { clientSecret } = await machine.json('oauth', 'rotate', id, '--yes')
  expect(clientSecret).not.toBe(registered.clientSecret)
  await machine.json('oauth', 'block', id, '--yes')
  const listed = await machine.json('oauth', 'clients', '--search', 'house')
  expect(listed).toMatchObject([
    {
      name: 'House agent',
      kind: 'registered',
      blocked: true,
      hasSecret: true,
      redirectUris: ['https://agent.example/back', 'http://127.0.0.1/back'],
    },
  ])
  expect(JSON.stringify(listed)).not.toContain(clientSecret)
  expect((await machine.run(['oauth', 'unblock', id])).stdout).toContain(`Program ${id} is allowed.`)
  const { stdout } = await machine.run(['oauth', 'clients'])
  expect(stdout).toMatch(/^id +name +kind +host +people +lastUsed +blocked\n\d+ +House agent +registered +- +0 +- +no/)
})

test('a command lists the programs of a user', async () => {
  await using machine = await openHost(ON)
  await machine.json('add-user', '--username', 'ada', '--email', 'ada@example.org', '--name', 'Ada')

  expect((await machine.run(['oauth', 'grants', '--username', 'ada'])).stdout).toContain('has signed in no program')
  expect(await machine.run(['oauth', 'grants', '--username', 'bob'])).toMatchObject({ exitCode: 1, stdout: '' })
})

test('a command ends one access of a user, and of nobody else', async () => {
  await using svc = await startOAuth()
  const { DATABASE_URL = '' } = svc.env
  await using machine = await openHost({ ...ON, OAUTH_CLIENTS: 'any', DATABASE_URL })
  const { program } = await startPersonWithProgram(svc, 'ada')
  await startPersonWithProgram(svc, 'bob')
  const [{ id }] = await machine.json('oauth', 'grants', '--username', 'ada')
  const end = (username: string) => ['oauth', 'end', '--username', username, '--grant', String(id), '--yes']

  expect(await machine.run(end('bob'))).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`There is no access ${id} of a program of bob.`),
  })
  expect(await tryToken(svc, program.tokens.access_token, '/mcp')).not.toBe(401)
  expect((await machine.run(end('ada'))).stdout).toContain(`Access ${id} has ended.`)
  expect(await tryToken(svc, program.tokens.access_token, '/mcp')).toBe(401)
  expect(await machine.json('oauth', 'grants', '--username', 'ada')).toEqual([])
})

test('a command tells why nobody can sign in programs, or documents cannot be fetched', async () => {
  await using machine = await openHost({
    ...ON,
    OAUTH_CLIENTS: 'documents',
    OAUTH_CLIENT_HOSTS: 'programs.example',
  })

  const checked = await machine.run(['oauth', 'check', 'https://other.example/agent.json', '--json'])
  expect(checked.exitCode).toBe(1)
  expect(JSON.parse(checked.stdout)).toMatchObject({
    clients: 'documents',
    documents: [{ address: 'https://other.example/agent.json', problem: 'not an allowed host' }],
    obstacles: [],
  })

  await using closed = await openHost({ ALLOW_EXTERNAL_COMMUNICATION: 'false', ALLOW_USER_TOKEN_CREATION: 'false' })
  const { obstacles, documents } = JSON.parse((await closed.run(['oauth', 'check', '--json'])).stdout)
  expect(documents).toEqual([])
  expect(obstacles).toEqual([
    expect.stringContaining('ALLOW_EXTERNAL_COMMUNICATION is off'),
    expect.stringContaining('ALLOW_USER_TOKEN_CREATION is off'),
  ])
})

test('an unknown program and an address that is not allowed are refused', async () => {
  await using machine = await openHost(ON)

  expect(await machine.run(['oauth', 'block', '77', '--yes'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('There is no program 77.'),
  })
  const wrong = await machine.run(['oauth', 'register', '--name', 'Mail', '--redirect', 'http://mail.example/'])
  expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--redirect must be https') })
  expect(await runCommand(['oauth', 'block', 'x', '--yes'], { env: unreachableHost })).toMatchObject({ exitCode: 2 })
})

test('a command says that programs refuse an address without TLS', async () => {
  await using config = await writeConfig('http://127.0.0.1:9')
  const settings = { ...productionSettings, ...ON, AI_CONFIG: config.file, BASE_URL: 'http://svc.example' }
  await using machine = await openHost(settings)

  const { stdout, stderr } = await machine.run(['oauth', 'check'])

  expect(stderr).toBe('')
  expect(stdout).toContain('BASE_URL is not https, which programs on other computers refuse.')
})
