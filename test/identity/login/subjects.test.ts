import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startApp, type TestApp } from '../../kit/app.ts'
import { buildFirstKeys, openBrowser, type TestBrowser } from '../../kit/browser.ts'
import { sendFirstKeys } from '../../kit/identity/first-keys.ts'
import { proxyHeaders } from '../../kit/identity/sessions.ts'
import { holdLock, waitForLocks } from '../../kit/locks.ts'

const settings = {
  AUTHENTICATION_METHOD: 'proxy',
  PROXY_ADDRESSES: '127.0.0.1',
  ...proxyHeaders,
  PROXY_SUBJECT_HEADER: 'x-id',
}

interface Person {
  id: string
  user: string
  email?: string
  name?: string
}

/** Signs in as the proxy's person; returns the browser and its redirect. */
async function comeAs(svc: TestApp, { id, user, email = `${id}@example.org`, name = `The ${user}` }: Person) {
  const browser = openBrowser(svc.url)
  const bytes = (text: string) => Buffer.from(text).toString('latin1')
  const sent = { 'x-id': id, 'x-user': bytes(user), 'x-email': bytes(email), 'x-name': bytes(name) }
  const { headers } = await browser.send('GET', '/req/login/proxy', { headers: sent })
  return { browser, to: headers.get('location') }
}

async function register(svc: TestApp, person: Person): Promise<TestBrowser> {
  const { browser, to } = await comeAs(svc, person)
  expect(to).toBe('/register')
  expect((await sendFirstKeys(browser)).status).toBe(200)
  return browser
}

const userNamed = async (svc: TestApp, username: string) => {
  const rows = await svc.rows<Record<string, unknown>>(
    'select id, subject, email, name, groups, signed_in_at is not null as "hasSignedIn" from users where username = $1',
    [username],
  )
  return rows[0]
}

test('people are identified by their subject, whatever their name is', async () => {
  await using svc = await startApp(settings)
  const former = await register(svc, { id: 'A-1', user: 'ada' })
  const { id } = (await userNamed(svc, 'ada')) ?? {}

  // The source gives the username to another person, while its former owner still has it here.
  const other = await comeAs(svc, { id: 'B-2', user: 'ada' })
  expect(other.to).toBe('/login?error=username_taken')
  expect(await other.browser.standing()).toBe('internal')
  expect(svc.log.join('')).toMatch(/"userId":2.*svc bind-user.*svc rename-user/)
  expect(svc.log.join('')).not.toMatch(/B-2|ada@|b-2@/)

  // A renamed person is still the same, with their keys and everything derived from the former name.
  const renamed = await comeAs(svc, { id: 'A-1', user: 'lovelace', email: 'king@example.org', name: 'Ada King' })
  expect(renamed.to).toBe('/handshake')
  expect(await userNamed(svc, 'lovelace')).toMatchObject({ id, subject: 'proxy:A-1', email: 'king@example.org' })
  expect((await former.send('GET', '/api/svc/v1/users/me')).text).toContain('"displayName":"Ada King"')
  const backup = async () => (await renamed.browser.send('GET', '/req/profile/passkey-backup')).body['passkeyBackup']
  expect(await backup()).toEqual({ ...buildFirstKeys().passkeyBackup, username: 'ada' })
  await renamed.browser.send('POST', '/trpc/passkey.renewBackup', { body: buildFirstKeys('second').passkeyBackup })
  expect(await backup()).toEqual(buildFirstKeys('second').passkeyBackup)

  // The username is free now.
  await register(svc, { id: 'B-2', user: 'ada' })
  expect((await userNamed(svc, 'ada'))?.['id']).not.toBe(id)

  // A known person cannot take a name that another subject has, either.
  expect((await comeAs(svc, { id: 'A-1', user: 'ada' })).to).toBe('/login?error=username_taken')
})

test('people from before are bound once by their username, despite concurrent sign-ins', async () => {
  await using svc = await startApp(settings)
  const { id } = await svc.user({ username: 'ada' })

  const windows = await Promise.all([1, 2, 3].map(() => comeAs(svc, { id: 'A-1', user: 'ada' })))

  expect(windows.map(({ to }) => to)).toEqual(['/handshake', '/handshake', '/handshake'])
  expect(await userNamed(svc, 'ada')).toMatchObject({ id, subject: 'proxy:A-1', hasSignedIn: true })
  expect((await comeAs(svc, { id: 'B-2', user: 'ada' })).to).toBe('/login?error=username_taken')

  const { id: bob } = await svc.user({ username: 'bob' })
  const strangers = await Promise.all(['B-1', 'B-2'].map((subject) => comeAs(svc, { id: subject, user: 'bob' })))
  const bound = strangers.filter(({ to }) => to === '/handshake')
  expect(bound).toHaveLength(1)
  expect(await userNamed(svc, 'bob')).toMatchObject({ id: bob, subject: expect.stringMatching(/^proxy:B-[12]$/) })
})

test('an e-mail address of somebody else keeps newcomers out, and is given to nobody', async () => {
  await using svc = await startApp(settings)
  await register(svc, { id: 'A-1', user: 'ada', email: 'shared@example.org' })
  await register(svc, { id: 'B-2', user: 'bob' })

  expect((await comeAs(svc, { id: 'C-3', user: 'cyd', email: 'Shared@example.org' })).to).toBe(
    '/login?error=email_taken',
  )
  expect((await comeAs(svc, { id: 'B-2', user: 'bob', email: 'shared@example.org' })).to).toBe('/handshake')

  expect(await userNamed(svc, 'bob')).toMatchObject({ email: 'b-2@example.org' })
  expect(svc.log.join('')).toContain('gives a user an e-mail address that another user has')
})

test('names have one form, and a search finds them in either', async () => {
  await using svc = await startApp(settings)
  const composed = 'Zoë Müller'.normalize('NFC')
  const browser = await register(svc, {
    id: 'Z-1',
    user: 'MÜLLER'.normalize('NFD'),
    email: 'jürgen@müller.example',
    name: `\u202e${composed.normalize('NFD')}`,
  })
  expect(await userNamed(svc, 'müller'.normalize('NFC'))).toMatchObject({
    name: composed,
    email: 'jürgen@müller.example',
  })
  await svc.rows(`insert into users (username, email, name) values ('old', 'old@example.org', $1)`, [
    'Zoë Alt'.normalize('NFD'),
  ])
  await svc.user({ username: 'ada' })
  const search = async (query: string) => {
    const sent = { body: { query }, headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' } }
    const { body } = await browser.send('POST', '/api/svc/v1/users/actions/search', sent)
    return (body['meta'] as { people: { username: string }[] }).people.map(({ username }) => username)
  }

  for (const form of ['NFC', 'NFD'] as const) {
    expect(await search('zoë'.normalize(form))).toEqual(['old'])
    expect(
      (await svc.host.users.search({ text: 'Zoë'.normalize(form) })).users.map(({ username }) => username),
    ).toEqual(['müller', 'old'])
  }
})

test('a proxy without a header of subjects binds to usernames, and the start warns', async () => {
  const { PROXY_SUBJECT_HEADER: _, ...named } = settings
  await using svc = await startApp(named)
  expect(svc.log.join('')).toContain('PROXY_SUBJECT_HEADER is not set')
  await register(svc, { id: 'A-1', user: 'ada' })
  expect(await userNamed(svc, 'ada')).toMatchObject({ subject: 'proxy:username ada' })

  await register(svc, { id: 'U-1', user: 'UNI\\bob' })
  expect((await comeAs(svc, { id: 'X-1', user: 'OTHER\\bob' })).to).toBe('/login?error=username_taken')

  await using later = await startApp({ ...settings, DATABASE_URL: svc.env.DATABASE_URL ?? '' })
  expect((await comeAs(later, { id: 'A-1', user: 'ada' })).to).toBe('/handshake')
  expect(await userNamed(later, 'ada')).toMatchObject({ subject: 'proxy:A-1' })
  expect((await comeAs(later, { id: 'B-2', user: 'ada' })).to).toBe('/login?error=username_taken')
})

test('several sources bind nobody from before unless a setting names one', async () => {
  const both = { ...settings, AUTHENTICATION_METHOD: 'local, proxy' }
  await using svc = await startApp(both)
  await svc.user({ username: 'ada' })

  expect((await comeAs(svc, { id: 'A-1', user: 'ada' })).to).toBe('/login?error=username_taken')
  expect(svc.log.join('')).toContain('BIND_EXISTING_FROM does not name its source')
  await svc.host.admin.bindUser({ user: { username: 'ada' }, subject: 'proxy:A-1' })
  expect((await comeAs(svc, { id: 'A-1', user: 'ada' })).to).toBe('/handshake')

  await svc.user({ username: 'bob' })
  const named = { ...both, BIND_EXISTING_FROM: 'proxy', DATABASE_URL: svc.env.DATABASE_URL ?? '' }
  await using later = await startApp(named)
  expect((await comeAs(later, { id: 'B-2', user: 'bob' })).to).toBe('/handshake')

  // People of two sources with the same name are two people.
  await later.host.admin.addUser({ username: 'cyd', email: 'cyd@example.org', name: 'Cyd', password: 'correct horse' })
  expect((await comeAs(later, { id: 'C-3', user: 'cyd', email: 'other@example.org' })).to).toBe(
    '/login?error=username_taken',
  )
  expect((await openBrowser(later.url).login('cyd', 'correct horse')).body['redirectUri']).toBe('/register')
})

const addLocalAda = (svc: TestApp) =>
  svc.host.admin.addUser({ username: 'ada', email: 'ada@example.org', name: 'Ada', password: 'correct horse' })

test('a local account binds by its own id, which stays when it is renamed', async () => {
  await using svc = await startApp()
  const { id } = await addLocalAda(svc)
  const subject = (await userNamed(svc, 'ada'))?.['subject']
  expect(subject).toMatch(/^local:[\da-f-]{36}$/)

  await svc.host.admin.renameUser({ user: { id }, to: 'lovelace' })
  expect((await openBrowser(svc.url).login('ada', 'correct horse')).status).toBe(401)
  expect((await openBrowser(svc.url).login('lovelace', 'correct horse')).status).toBe(200)
  expect(await userNamed(svc, 'lovelace')).toMatchObject({ id, subject })
  const accounts = JSON.parse(await readFile(`${svc.folder}/accounts.json`, 'utf8')) as { id: string }[]
  expect(`local:${accounts[0]?.id}`).toBe(subject)
})

test('a local account has the last of two usernames that are given concurrently', async () => {
  await using svc = await startApp()
  const { id } = await addLocalAda(svc)
  await using lock = await holdLock(svc, 'select from users where id = $1 for update', [id])
  const first = svc.host.admin.renameUser({ user: { id }, to: 'lovelace' })
  await lock.waitForWaiter()
  const second = svc.host.admin.renameUser({ user: { id }, to: 'byron' })
  await waitForLocks(svc.env.DATABASE_URL, 2)

  await lock.release()
  await Promise.all([first, second])

  expect((await openBrowser(svc.url).login('byron', 'correct horse')).status).toBe(200)
  expect((await openBrowser(svc.url).login('lovelace', 'correct horse')).status).toBe(401)
})

test.for([
  [{ AUTHENTICATION_METHOD: 'local', BIND_EXISTING_FROM: 'ldap' }, /BIND_EXISTING_FROM.*one of AUTHENTICATION_METHOD/],
  [{ BIND_EXISTING_FROM: 'shibboleth' }, /must be one of local, ldap, oidc, proxy/],
] as const)('a binding source that nobody signs in by stops the start, as %j', async ([more, message]) => {
  await expect(startApp(more)).rejects.toThrow(message)
})
