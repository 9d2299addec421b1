import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../../kit/app.ts'
import { openBrowser } from '../../kit/browser.ts'
import { useDirectory } from '../../kit/identity/directory.ts'
import { describeWith } from '../../kit/parts/with-parts.ts'

describeWith('slapd')('a directory with legal and unusual entries', () => {
  const directory = useDirectory()
  let svc: TestApp
  beforeAll(async () => {
    svc = await startApp({ ...directory.settings(), LOGIN_ATTEMPTS_PER_ACCOUNT: '2' })
  })
  afterAll(() => svc[Symbol.asyncDispose]())

  /** Signs in and returns the user information that the page gets. */
  async function userinfoOf(account: string, password: string) {
    const browser = openBrowser(svc.url)
    const { status, body } = await browser.login(account, password)
    expect([status, body]).toEqual([200, { success: true, redirectUri: '/register' }])
    const answer = await browser.send('GET', '/api/svc/v1/connections/svc')
    return JSON.parse(answer.text).data.attributes.userinfo
  }

  test.for([
    ['müller', 'pässwörd', { username: 'müller', email: 'jürgen@müller.example' }],
    ['MÜLLER', 'pässwörd', { username: 'müller' }],
    ['UNI\\ann', "Ann's password", { username: 'ann' }],
    ['firstbad', "firstbad's password", { email: 'good@example.org' }],
    ['a.b-c_d+e@uni.example', "a.b-c_d+e@uni.example's password", { username: 'a.b-c_d+e@uni.example' }],
    ["o'neil", "o'neil's password", { username: "o'neil", email: "o'neil@example.org" }],
    ['long', "long's password", { name: 'N'.repeat(120) }],
    ['comma', "comma's password", { name: 'Meier, Dr., Hans' }],
    ['unnamed', "unnamed's password", { name: 'Un Named' }],
    ['ann.too', "many's password", { username: 'many' }],
  ] as const)('%s signs in', async ([account, password, expected]) => {
    expect(await userinfoOf(account, password)).toMatchObject(expected)
  })

  test('an entry without what is needed says so, and counts as no wrong password', async () => {
    const browser = openBrowser(svc.url)

    for (let tries = 0; tries < 4; tries++) {
      const { status, body } = await browser.login('nomail', "nomail's password")
      expect([status, body['code'], body['error']]).toEqual([
        403,
        'account_without_email',
        'Your account has no e-mail address here. Ask your administrator.',
      ])
    }
    expect((await browser.login('nomail', 'wrong')).status).toBe(401)
    expect(await browser.standing()).toBe('internal')
  })

  test('a domain in front of an account opens no further tries', async () => {
    const statuses: number[] = []
    for (const domain of ['A', 'B', 'C'])
      statuses.push((await openBrowser(svc.url).login(`${domain}\\open`, 'wrong')).status)

    expect(statuses).toEqual([401, 401, 429])
  })
})
