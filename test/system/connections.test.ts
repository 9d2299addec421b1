import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { buildFirstKeys, openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { newName } from '../kit/identity/people.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)

const path = '/api/svc/v1/connections/svc'

const attributesOf = async (browser: TestBrowser) => {
  const { body } = await browser.send('GET', path)
  return (body as { data: { type: string; id: string; attributes: Record<string, unknown> } }).data
}

test('the connection tells a guest how to begin, and nothing else', async () => {
  const { type, id, attributes } = await attributesOf(openBrowser(svc.url))

  expect([type, id]).toEqual(['connections', 'svc'])
  expect(attributes).toMatchObject({
    connectionType: 'internal',
    locale: 'en_US',
    version: expect.stringMatching(/^\d/),
  })
  expect(Object.keys(attributes).sort()).toEqual(['configs', 'connectionType', 'locale', 'version'])
  expect(Object.keys(attributes['configs'] as object).sort()).toEqual(['locale', 'security', 'transfer'])
  expect(attributes['configs']).not.toHaveProperty('transfer.websocket')
})

test('the connection gives somebody in registration what first keys are made with', async () => {
  const ada = newName()
  const { browser } = await signIn(svc, ada, { known: false })

  const { attributes } = await attributesOf(browser)

  expect(attributes).toMatchObject({
    connectionType: 'internal_registering_user',
    userinfo: {
      id: 0,
      username: ada,
      name: `The ${ada}`,
      email: `${ada}@example.org`,
      hash: '',
      avatar: null,
      bio: null,
    },
  })
  expect(Object.keys(attributes['salts'] as object).sort()).toEqual(['backup', 'passkey', 'userdata'])
  expect(attributes).not.toHaveProperty('websocket')
  expect(attributes).not.toHaveProperty('migrationsToApply')
  expect(attributes).not.toHaveProperty('configs.ai')
})

test('the connection gives somebody signed in all that their front end needs', async () => {
  const ada = newName()
  const { browser, id } = await signIn(svc, ada, { keys: false })
  const keys = buildFirstKeys()
  await browser.send('POST', '/handshake', { body: keys })

  const { attributes } = await attributesOf(browser)

  expect(attributes).toMatchObject({
    connectionType: 'internal_authenticated',
    migrationsToApply: 0,
    userinfo: { id, username: ada, hash: createHash('md5').update(`${id}-${keys.publicKey}`).digest('hex') },
  })
  const { port } = new URL(svc.url)
  const websocket = { key: 'svc', host: '127.0.0.1', port: Number(port), forceTls: false, path: '/ws/transfer' }
  expect(attributes).toMatchObject({ websocket, configs: { transfer: { websocket } } })
  expect(Object.keys(attributes['userinfo'] as object).sort()).toEqual([
    'avatar',
    'bio',
    'email',
    'hash',
    'id',
    'name',
    'username',
  ])
  expect(Object.keys(attributes['salts'] as object)).toHaveLength(5)
  expect(attributes['configs']).toMatchObject({
    ai: { handle: '@svc' },
    salts: attributes['salts'],
    transfer: { baseUrl: svc.url },
    storage_files: {
      maxFileSize: svc.env.MAX_FILE_SIZE,
      allowedMimeTypes: expect.arrayContaining(['application/pdf']),
    },
  })
})

test('the connection speaks the language that the caller wishes', async () => {
  const locale = async (headers: Record<string, string>) => {
    const answer = await fetch(svc.url + path, { headers })
    return ((await answer.json()) as { data: { attributes: { locale: string } } }).data.attributes.locale
  }

  expect(await locale({ 'x-app-locale': 'de-DE', 'accept-language': 'en' })).toBe('de_DE')
  expect(await locale({ 'x-app-locale': '', 'accept-language': 'fr, de;q=0.5, en;q=0.4' })).toBe('de_DE')
  expect(await locale({ 'accept-language': 'fr' })).toBe('en_US')
})

test('the connection refuses programs and other ids, and says so in the log', async () => {
  const { token } = await svc.user()

  const byToken = await svc.send('GET', path, { token })
  const other = await fetch(`${svc.url}/api/svc/v1/connections/lms-4711`)

  expect([byToken.status, other.status]).toEqual([404, 404])
  expect(svc.log.filter((line) => line.includes('a connection was refused'))).toHaveLength(2)
  expect(svc.log.join()).not.toContain('lms-4711')
})
