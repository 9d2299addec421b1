import { expect, test, vi } from 'vitest'
import { startApp } from '../kit/app.ts'
import { openBrowser, signIn } from '../kit/browser.ts'

vi.mock('../../routers/core/brand.ts', () => ({ brand: 'acme' }))

test('another word for the service stands in addresses, cookies, ids, titles and the sync log, and the old one nowhere', async () => {
  await using svc = await startApp({ ALLOW_USER_TOKEN_CREATION: 'true' })
  const guest = openBrowser(svc.url)

  const page = await guest.send('GET', '/login')
  const connection = await guest.send('GET', '/api/acme/v1/connections/acme')
  const configs = await guest.send('GET', '/api/acme/v1/configs/public')
  const description = await guest.send('GET', '/api/acme/v1/openapi.json')
  const gone = await guest.send('GET', '/api/svc/v1/connections/svc')

  expect([page, connection, configs, description, gone].map(({ status }) => status)).toEqual([200, 200, 200, 200, 404])
  expect(page.text).toContain('· acme</title>')
  expect(connection.body).toMatchObject({ data: { id: 'acme', links: { self: '/api/acme/v1/connections/acme' } } })
  expect(Object.keys((configs.body as { data: { attributes: { list: object } } }).data.attributes.list)).toContain(
    'acme-core',
  )
  for (const { text } of [page, connection, configs, description]) expect(text).not.toMatch(/svc(?!UserD|UserU|UserA)/)

  const { browser, id } = await signIn(svc)
  const data = { type: 'users', id: String(id), attributes: { bio: 'Mine.' } }
  const headers = { 'content-type': 'application/vnd.api+json', 'sec-fetch-site': 'same-origin' }
  const changed = await browser.send('PATCH', `/api/acme/v1/users/${id}`, { body: { data }, headers })

  expect([...browser.cookies.keys()].sort()).toEqual(['acme_known', 'acme_session'])
  expect(changed.body).toMatchObject({ meta: { _acme_sync_log: [] } })
})
