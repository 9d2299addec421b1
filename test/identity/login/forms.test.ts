import { beforeAll, expect, test } from 'vitest'
import { startApp } from '../../kit/app.ts'
import { openBrowser, signIn } from '../../kit/browser.ts'
import { shareResource } from '../../kit/share-resource.ts'

const PASSWORD = 'correct horse battery'

const svc = shareResource(startApp)
beforeAll(async () => {
  await svc.host.admin.addUser({ username: 'ada', email: 'ada@example.org', name: 'Ada', password: PASSWORD })
})

type Form = FormData | URLSearchParams
type Way = readonly [name: string, make: (fields: Record<string, string>) => Form]

function multipartOf(fields: Record<string, string>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}

const ways: readonly Way[] = [
  ['multipart/form-data', multipartOf],
  ['url-encoded', (fields) => new URLSearchParams(fields)],
]

const own = { 'sec-fetch-site': 'same-origin' }
const post = (path: string, body: Form | string, headers: Record<string, string> = {}) =>
  fetch(svc.url + path, { method: 'POST', redirect: 'manual', headers: { ...own, ...headers }, body })

test.for(ways)("people sign in by a form sent as %s with the page's token", async ([, form]) => {
  for (const path of ['/req/login', '/req/login-ldap']) {
    const answer = await post(path, form({ account: 'ada', password: PASSWORD, _token: 'of the page' }))

    expect([answer.status, await answer.json()]).toEqual([200, { success: true, redirectUri: expect.any(String) }])
    expect(answer.headers.getSetCookie().join()).toContain('svc_session=')
  }
  const wrong = await post('/req/login', form({ account: 'ada', password: 'a wrong one' }))
  expect([wrong.status, await wrong.json()]).toMatchObject([200, { success: false, message: 'Login Failed!' }])
})

test.for(ways)('other requests of front ends take forms that are sent as %s', async ([name, form]) => {
  const browser = openBrowser(svc.url)
  await browser.login('ada', PASSWORD)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const language = await post('/req/changeLanguage', form({ inputLang: 'de_DE' }), { cookie })

  expect([language.status, await language.json()]).toMatchObject([200, { success: true }])
  const bob = await signIn(svc, `bob${name.length}`)
  const updated = await post('/req/profile/update', form({ displayName: 'Bob B' }), {
    cookie: [...bob.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
  })
  expect([updated.status, await updated.json()]).toMatchObject([200, { success: true }])
  expect(await svc.rows(`select name from users where username = 'bob${name.length}'`)).toEqual([{ name: 'Bob B' }])
})

test('a login form that is too large or malformed is refused', async () => {
  const large = new FormData()
  for (let field = 0; field < 15; field++) large.append(`field${field}`, 'x'.repeat(10_000))
  const broken = await post('/req/login', '--x\r\nnothing', { 'content-type': 'multipart/form-data; boundary=x' })

  expect((await post('/req/login', large)).status).toBe(413)
  expect(broken.status).toBe(422)
})

test('a form field that is too long is refused instead of truncated', async () => {
  const { browser } = await signIn(svc, 'cem')
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const update = (length: number) =>
    post('/req/profile/update', multipartOf({ displayName: 'Cem', unread: 'x'.repeat(length) }), { cookie })

  expect((await update(200_000)).status).toBe(200)
  expect((await update(200_001)).status).toBe(413)
})
