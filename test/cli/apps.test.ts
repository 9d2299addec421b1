import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { svcConsole } from '../../cli/programs.ts'
import { openHost, runCommand, unreachableHost } from '../kit/command-line.ts'

const portal = ['--name', 'Portal', '--url', 'https://portal.example']

test('a command creates an external app, and prints its credential and private key once', async () => {
  await using machine = await openHost()

  const made = await machine.json('app', 'create', ...portal)

  expect(made).toEqual({
    id: expect.any(String),
    name: 'Portal',
    credential: expect.stringMatching(/^svc_app_1_[0-9A-Za-z]+$/),
    privateKey: expect.stringMatching(/^[0-9A-Za-z+/=]+\|[0-9A-Za-z+/=]+$/),
  })
  const shown = await machine.run(['app', 'show', made.id, '--json'])
  const listed = await machine.run(['ext-app:list', '--json'], { program: svcConsole })
  expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'Portal', links: 0, lastUsedAt: null }])
  expect(JSON.parse(shown.stdout)).toMatchObject({
    redirectUrls: ['https://portal.example/'],
    abilities: ['ai', 'user'],
    credentials: [{ expiresAt: null, lastUsedAt: null }],
  })
  for (const { stdout } of [shown, listed]) {
    expect(stdout).not.toContain(made.credential.slice(10))
    expect(stdout).not.toContain(made.privateKey.slice(0, 40))
  }
})

test("a command prints private keys as PEM, and people's keys only on request", async () => {
  await using machine = await openHost()
  const needsKeys = async () => (await machine.rows('select name, needs_keys from ext_apps order by id')).at(-1)

  const { stdout } = await machine.run(['app', 'create', ...portal])
  const [pem = ''] = /-----BEGIN PRIVATE KEY-----[\s\S]+-----END PRIVATE KEY-----/.exec(stdout) ?? []
  expect(createPrivateKey(pem).asymmetricKeyType).toBe('rsa')
  expect(await needsKeys()).toEqual({ name: 'Portal', needs_keys: false })
  for (const [name, flag, needs_keys] of [
    ['Mail', '--with-keys', true],
    ['Chess', '--without-keys', false],
  ] as const) {
    await machine.json('app', 'create', '--name', name, '--url', 'https://a.example', '--public-key', key(), flag)
    expect(await needsKeys()).toEqual({ name, needs_keys })
  }
})

test('a command names the flag whose value another external app has', async () => {
  await using machine = await openHost()
  await machine.json('app', 'create', ...portal, '--public-key', key())

  const again = await machine.run(['app', 'create', ...portal, '--public-key', key()])

  expect(again).toMatchObject({ exitCode: 1, stdout: '' })
  expect(again.stderr).toContain('--name must be unique: another record has this value.')
})

const key = () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
}

test('a command gives an external app another credential or another key, and removes it', async () => {
  await using machine = await openHost()
  const { id } = await machine.json(
    'app',
    'create',
    ...portal,
    '--public-key',
    key(),
    '--abilities',
    'ai',
    '--expires',
    '12h',
  )
  const keys = () => machine.rows('select public_key, abilities from ext_apps')
  const [before] = await keys()

  const rotated = await machine.json('app', 'rotate', id, '--overlap', '0', '--expires', '90d')
  const rekeyed = await machine.run(['app', 'rotate', id, '--key', key(), '--yes'])

  expect(rotated).toEqual({ credential: expect.stringMatching(/^svc_app_2_/) })
  const ends =
    'select ceil(extract(epoch from expires_at - now()) / 3600)::int as hours from ext_app_credentials order by id'
  expect(await machine.rows(ends)).toEqual([
    { hours: expect.toSatisfy((hours: number) => hours <= 0) },
    { hours: 2160 },
  ])
  expect(rekeyed).toMatchObject({ exitCode: 0, stdout: `App ${id} has another key, and no links.\n` })
  const [after] = await keys()
  expect(before).toMatchObject({ abilities: ['ai'] })
  expect(after?.['public_key']).not.toBe(before?.['public_key'])
  for (const [word, active] of [
    ['off', false],
    ['on', true],
  ] as const) {
    expect(await machine.json('app', word, id)).toEqual({ id, name: 'Portal', active })
    expect(await machine.rows('select active from ext_apps')).toEqual([{ active }])
  }
  const removed = await machine.run(['ext-app:remove', id, '--yes'], { program: svcConsole })
  expect(removed).toMatchObject({ exitCode: 0, stdout: `App ${id} is removed.\n` })
  expect(await keys()).toEqual([])
})

test('an invalid external app is not created, and a missing one is not found', async () => {
  await using machine = await openHost()

  const wrong = await machine.run(['app', 'create', ...portal, '--redirect', 'http://portal.example'])
  expect(wrong).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('must begin with https://') })
  expect(await machine.rows('select 1 from ext_apps')).toEqual([])
  for (const argv of [
    ['show', '7'],
    ['rotate', '7', '--key', key(), '--yes'],
  ])
    expect(await machine.run(['app', ...argv])).toMatchObject({ exitCode: 1, stdout: '' })
})

test.for([
  ['--name is missing.', 'create'],
  ['--abilities', 'create', ...portal, '--abilities', 'keychain'],
  ['--days must be', 'create', ...portal, '--days', 'soon'],
  ['--expires needs a unit', 'create', ...portal, '--expires', '90'],
  ['--expires does not go with --key.', 'rotate', '7', '--expires', '5d', '--key', 'new'],
  ['--overlap must be', 'rotate', '7', '--overlap', 'long'],
  ['--overlap must not be empty.', 'rotate', '7', '--overlap', ''],
  ['--overlap does not go with --key.', 'rotate', '7', '--overlap', '5', '--key', 'new'],
  ['--yes is missing.', 'rotate', '7', '--key', 'new'],
  ['--yes is missing.', 'remove', '7'],
])('a wrong command for apps exits with 2 and opens no database: %s', async ([says = '', ...argv]) => {
  const result = await runCommand(['app', ...argv], { env: unreachableHost })
  expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(says) })
})
