import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { addAccount, openBrowser } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { waitForAddress } from '../kit/web/pages.ts'

const svc = shareResource(startApp)

const PASSWORD = 'a long new password'

const command = (...argv: string[]) => {
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  return runCommand(argv, { env: { DATABASE_URL, DATA_DIR, DATABASE_POOL: '2', BASE_URL: svc.url } })
}

async function invite(username: string) {
  const person = ['--username', username, '--email', `${username}@example.com`, '--name', `The ${username}`]
  const { stdout, stderr } = await command('invitation', 'create', ...person, '--json')
  if (stderr) throw new Error(stderr)
  return readLink(stdout)
}

function readLink(stdout: string) {
  const { link, id } = JSON.parse(stdout) as { link: string; id: number }
  return { id, link, secret: new URL(link).hash.slice(1) }
}

async function accept(secret: string, password = PASSWORD, browser = openBrowser(svc.url)) {
  const { status, body } = await browser.send('POST', '/req/invitation', { body: { secret, password } })
  return { status, code: body['code'] }
}

const open = async (secret: string) => openBrowser(svc.url).send('POST', '/req/invitation/open', { body: { secret } })

test('an invited person sets their password by the link once, and signs in', async () => {
  const { id, link, secret } = await invite('ada')
  expect(link).toMatch(/\/invitation#[A-Za-z0-9]{40}$/)
  expect((await open(secret)).body).toMatchObject({ username: 'ada', name: 'The ada' })
  expect((await openBrowser(svc.url).login('ada', PASSWORD)).status).toBe(401)

  expect(await accept(secret)).toMatchObject({ status: 200 })

  expect((await openBrowser(svc.url).login('ada', PASSWORD)).status).toBe(200)
  expect(await accept(secret, 'another password')).toEqual({ status: 404, code: 'invitation_invalid' })
  expect((await open(secret)).status).toBe(404)
  expect(JSON.stringify(await svc.rows('select * from account_invitations'))).not.toContain(secret)
  expect(svc.log.join('')).not.toContain(secret)
  const { entries } = await svc.host.audit.list({ subject: `user:${id}`, act: 'accountInvitations.accept' })
  expect(entries).toMatchObject([{ actor: 'guest', outcome: 'ok' }])
  expect(JSON.stringify(entries)).not.toContain(PASSWORD)
})

test('of two people who use one link at once, one sets the password', async () => {
  const { secret } = await invite('twin')
  const outcomes = await Promise.all([accept(secret, 'the first password'), accept(secret, 'the second password')])
  expect(outcomes.map(({ status }) => status).sort()).toEqual([200, 404])
})

test('a link ends with a newer one, by hand, and after 72 hours', async () => {
  const { secret: first } = await invite('bob')
  const { secret: second } = readLink((await command('invitation', 'renew', 'bob', '--json')).stdout)
  expect((await open(first)).status).toBe(404)
  expect((await open(second)).status).toBe(200)

  expect((await command('invitation', 'list')).stdout).toContain('bob')
  expect((await command('invitation', 'end', 'bob')).stdout).toContain('has ended')
  expect(await accept(second)).toMatchObject({ status: 404 })
  expect((await command('invitation', 'end', 'bob')).stderr).toContain('bob has no invitation that could end.')

  const { secret: third } = readLink((await command('invitation', 'renew', 'bob', '--json')).stdout)
  const [kept] = await svc.rows<{ hours: number }>(
    `select round(extract(epoch from expires_at - now()) / 3600)::int as hours from account_invitations i
       join users u on u.id = i.user_id where u.username = 'bob'`,
  )
  expect(kept?.hours).toBe(72)
  await svc.rows(`update account_invitations set expires_at = now() - interval '1 second'`)
  expect(await accept(third)).toEqual({ status: 404, code: 'invitation_invalid' })
  expect((await command('invitation', 'list')).stdout).toContain('There are no invitations.')
})

test('people with an account, removed or disabled people set no password by a link', async () => {
  const { id, secret } = await invite('cid')
  await svc.host.admin.setDisabled({ user: { id }, disabled: true })
  expect(await accept(secret)).toEqual({ status: 403, code: 'account_disabled' })
  await svc.host.admin.setDisabled({ user: { id }, disabled: false })
  await svc.host.password.set({ user: { id }, password: 'set by somebody' })
  expect(await accept(secret)).toEqual({ status: 409, code: 'account_exists' })
  expect((await command('invitation', 'renew', 'cid')).stderr).toContain('cid has an account with a password already.')
  await svc.host.admin.removeUser({ user: { id } })
  expect(await accept(secret)).toEqual({ status: 404, code: 'invitation_invalid' })

  await addAccount(svc, 'dora', { known: false })
  await expect(invite('dora')).rejects.toThrow('dora has an account with a password already.')
})

test('a password that is easy to guess leaves the link as it was', async () => {
  const { secret } = await invite('evelyn.x')
  expect(await accept(secret, 'short')).toMatchObject({ status: 422 })
  expect(await accept(secret, 'evelyn.x')).toMatchObject({ status: 422 })
  expect(await accept(secret)).toMatchObject({ status: 200 })
})

test('nobody is invited where no local accounts exist', async () => {
  await using other = await startApp({
    AUTHENTICATION_METHOD: 'proxy',
    PROXY_ADDRESSES: '127.0.0.1',
    PROXY_USERNAME_HEADER: 'x-user',
    PROXY_EMAIL_HEADER: 'x-email',
    PROXY_NAME_HEADER: 'x-name',
  })
  const person = { username: 'ada', email: 'ada@example.org', name: 'Ada' }
  await expect(other.host.accountInvitations.create(person)).rejects.toThrow('AUTHENTICATION_METHOD lacks local')
  expect(await other.rows(`select from users where username = 'ada'`)).toEqual([])
})

test('guessing links is soon throttled', async () => {
  await using other = await startApp()
  const browser = openBrowser(other.url)
  const tries = Array.from({ length: 21 }, () => accept('x'.repeat(40), PASSWORD, browser))
  expect((await Promise.all(tries)).filter(({ status }) => status === 429)).toHaveLength(1)
})

describeWith('chromium')('the page of an invitation', () => {
  test('the invitation page sets the password and shows a used link in both languages', async () => {
    const { secret } = await invite('fay')
    await using chromium = await openPage(svc.url)
    const { page, complaints } = chromium

    await page.goto(`/invitation?lang=en_US#${secret}`)
    await page.getByText('Welcome, The fay. Your username is fay.').waitFor()
    expect(page.url()).not.toContain(secret)
    await expectAccessible(page)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByLabel('Repeat the password').fill('something else')
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByText('The two passwords are not the same.').waitFor()
    await page.getByLabel('Repeat the password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByText('Your password is set.').waitFor()
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByLabel('Username or e-mail address').fill('fay')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await waitForAddress(page, /\/register/)
    expect(complaints).toEqual([])

    await page.goto(`/invitation?lang=de_DE#${secret}`)
    await page.getByText('Diese Einladung funktioniert nicht').waitFor()
  })
})
