import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { generateSecret, readToken, writeToken } from '../../entities/identity/token-format.ts'
import { readTokenReference } from '../../entities/identity/token-reference.ts'
import { startApp } from '../kit/app.ts'
import { signIn } from '../kit/browser.ts'
import { portal } from '../kit/json-api/sample-rows.ts'

const secret = '0123456789'.repeat(4)
const whole = writeToken({ id: 12, secret })

test.for([
  [whole, 'person', 12],
  [`  ${whole}\n`, 'person', 12],
  [whole.slice(0, 20), 'person', 12],
  ['svc_12_', 'person', 12],
  ['svc_12_abc…', 'person', 12],
  ['svc_12_****', 'person', 12],
  [writeToken({ id: 7, secret, kind: 'app' }), 'app', 7],
  ['svc_app_7_', 'app', 7],
  ['3|an-imported-secret', 'person', 3],
  ['3|', 'person', 3],
] as const)('a token is known by its beginning: %s', ([text, kind, id]) => {
  expect(readTokenReference(text)).toEqual({ kind, id })
})

test.for([
  '',
  'svc_',
  'svc_12',
  'svc_0_',
  'svc_99999999999_',
  'svc_4294967295_',
  `${whole}x`,
  `${whole.slice(0, -1)}${whole.endsWith('x') ? 'y' : 'x'}`,
  'ghp_0123456789012345678901234567890123456',
  'sk-proj-0123456789',
  'three|an-imported-secret',
])('other text is no token: %s', (text) => {
  expect(readTokenReference(text)).toBeUndefined()
})

test('the checksum is the CRC-32 that earlier tokens have', () => {
  for (let count = 0; count < 50; count++) {
    const text = writeToken({ id: 5, secret: generateSecret() })
    let rest = crc32(text.slice('svc_5_'.length, -6))
    for (const digit of text.slice(-6)) {
      expect('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'[rest % 62]).toBe(digit)
      rest = Math.floor(rest / 62)
    }
    expect(readToken(text)).toMatchObject({ kind: 'person', id: 5 })
  }
})

test('an administrator finds whose a token is by its id, and nobody else does', async () => {
  await using svc = await startApp()
  const { browser, id: rootId } = await signIn(svc, 'root')
  await svc.host.admin.setRole({ user: { id: rootId }, role: 'admin' })
  await browser.login('root')
  const ada = await signIn(svc, 'ada')
  const app = await svc.host.extApps.create(portal)
  const find = async (by: typeof browser, token: string) => {
    const input = encodeURIComponent(JSON.stringify(readTokenReference(token)))
    const { body } = await by.send('GET', `/trpc/tokens.find?input=${input}`)
    const { result, error } = body as { result?: { data: unknown }; error?: { data: { problem: string } } }
    return result?.data ?? error?.data.problem
  }

  expect(await find(browser, ada.token)).toMatchObject({
    kind: 'person',
    name: 'test',
    abilities: ['ai', 'user', 'read'],
    userId: ada.id,
    username: 'ada',
    appId: null,
    lastUsedAt: null,
    expiresAt: null,
  })
  expect(await find(browser, String(app.credential))).toMatchObject({
    kind: 'app',
    userId: null,
    appId: Number(app.id),
    appName: 'Portal',
  })
  expect(await find(browser, 'svc_4711_')).toBe('not_found')
  expect(await find(ada.browser, ada.token)).toBe('admin_only')

  // No answer and no line of the log has more of a token than its id.
  const texts = [JSON.stringify(await find(browser, ada.token)), ...svc.log].join('\n')
  for (const token of [ada.token, String(app.credential)]) expect(texts).not.toContain(token.slice(-46))
})
