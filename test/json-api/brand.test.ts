import { join } from 'node:path'
import { expect, test } from 'vitest'
import { putAccount } from '../../server/login/accounts.ts'
import { buildFirstKeys, buildIdentity, openBrowser, PASSWORD } from '../kit/browser.ts'
import { cloneDatabase } from '../kit/database.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'

test('another brand replaces the old word everywhere it stands', async () => {
  await using database = await cloneDatabase()
  await using folder = await createDataFolder()
  await putAccount(join(folder.path, 'accounts.json'), buildIdentity('ada'), PASSWORD)
  await using service = startProcess({ BRAND: 'acme', PORT: '0', DATABASE_URL: database.url, DATA_DIR: folder.path })
  const browser = openBrowser(await service.ready())

  const page = await browser.send('GET', '/login')
  const connection = await browser.send('GET', '/api/acme/v1/connections/acme')
  const configs = await browser.send('GET', '/api/acme/v1/configs/public')
  const description = await browser.send('GET', '/api/acme/v1/openapi.json')
  const gone = await browser.send('GET', '/api/svc/v1/connections/svc')

  expect([page, connection, configs, description, gone].map(({ status }) => status)).toEqual([200, 200, 200, 200, 404])
  expect(page.text).toContain('· acme</title>')
  expect(connection.body).toMatchObject({ data: { id: 'acme', links: { self: '/api/acme/v1/connections/acme' } } })
  expect(Object.keys((configs.body as { data: { attributes: { list: object } } }).data.attributes.list)).toContain(
    'acme-core',
  )
  for (const { text } of [page, connection, configs, description]) expect(text).not.toMatch(/svc(?!UserD|UserU|UserA)/)

  await browser.login('ada')
  await browser.send('POST', '/handshake', { body: buildFirstKeys() })
  const changed = await browser.send('POST', '/api/acme/v1/user-keychain-values/actions/batch-update', { body: {} })

  expect([...browser.cookies.keys()].sort()).toEqual(['acme_known', 'acme_session'])
  expect(changed.body).toMatchObject({ meta: { _acme_sync_log: [] } })
})
