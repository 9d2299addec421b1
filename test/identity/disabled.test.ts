import { expect, test } from 'vitest'
import { openBrowser, signIn } from '../kit/browser.ts'
import { createApiClient, startJsonApi } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)

test('a disabled person cannot sign in, and learns why only with the right password', async () => {
  const { browser, id } = await signIn(svc, 'dora')
  const before = await svc.rows('select public_key, role from users where id = $1', [id])
  await svc.host.admin.setDisabled({ user: { id }, disabled: true })

  expect(await browser.standing()).toBe('internal')
  const { status, body } = await openBrowser(svc.url).login('dora')
  expect([status, body]).toEqual([
    403,
    {
      success: false,
      code: 'account_disabled',
      error: 'Your account is disabled. Ask your administrator.',
      message: 'Login Failed!',
    },
  ])
  expect((await openBrowser(svc.url).login('dora', 'wrong')).body['error']).toBe('Wrong username or password.')
  expect(await svc.rows('select public_key, role from users where id = $1', [id])).toEqual(before)

  await svc.host.admin.setDisabled({ user: { id }, disabled: false })
  expect((await openBrowser(svc.url).login('dora')).body['redirectUri']).toBe('/handshake')
})

test('only administrators disable people, and see who is disabled', async () => {
  const admin = createApiClient(svc, (await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })).token)
  const person = await svc.user({ abilities: ['read', 'write', 'user'] })
  const own = createApiClient(svc, person.token)
  const other = createApiClient(svc, (await svc.user({ abilities: ['read', 'write'] })).token)

  for (const [client, status] of [
    [own, 403],
    [other, 403],
    [createApiClient(svc), 401],
  ] as const)
    expect((await client.update('users', person.id, { disabled: true })).status).toBe(status)
  expect((await own.get('/users/me')).one.attributes).not.toHaveProperty('disabled')
  expect((await other.get(`/users/${person.id}`)).status).toBe(404)
  expect((await admin.update('users', 1, { disabled: true })).status).toBe(403)
  expect((await own.get('/users/1')).one.attributes).not.toHaveProperty('disabled')

  expect((await admin.update('users', person.id, { disabled: true })).status).toBe(200)
  expect((await own.get('/users/me')).status).toBe(401)
  expect((await admin.get(`/users/${person.id}`)).one.attributes['disabled']).toBe(true)
})
