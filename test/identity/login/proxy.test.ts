import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { Identity } from '../../../routers/ports/login.ts'
import { readEnv } from '../../../server/config/env.ts'
import { openLoginSources } from '../../../server/login/index.ts'
import { keepLog } from '../../kit/log.ts'

const settings = {
  AUTHENTICATION_METHOD: 'proxy',
  PROXY_ADDRESSES: '127.0.0.1, 10.1.0.0/16, fd00::/8',
  PROXY_USERNAME_HEADER: 'X-Login-User',
  PROXY_EMAIL_HEADER: 'X-Login-Mail',
  PROXY_NAME_HEADER: 'X-Login-Name',
  PROXY_LOGOUT_URL: '/oauth2/sign_out',
}
const ann = { 'x-login-user': 'ann', 'x-login-mail': 'ann@example.org', 'x-login-name': 'Ann' }
const identity = { username: 'ann', email: 'ann@example.org', name: 'Ann' }

async function open(more: Record<string, string> = {}) {
  const log = keepLog()
  const { header } = await openLoginSources(readEnv({ ...settings, ...more }), log)
  return { source: header!, log }
}

/** What is read from a request that comes over a connection; values are sent byte by byte. */
async function overTheWire(headers: Record<string, string | string[]>, more: Record<string, string> = {}) {
  const { source, log } = await open(more)
  let read: Identity | undefined
  const server = createServer((asked, answer) => {
    read = source.read(asked.headersDistinct, asked.socket.remoteAddress)
    answer.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const asking = request({ port, host: '127.0.0.1', headers }).end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  answer.resume()
  await once(answer, 'end')
  server.closeAllConnections()
  server.close()
  return { read, log }
}

const distinct = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
const bytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1')

test('the headers of a login proxy are read from its connections', async () => {
  expect((await overTheWire(ann)).read).toEqual(identity)
})

test('the headers of a login proxy are not read from any other address, whatever a forwarding header says', async () => {
  const { read, log } = await overTheWire(
    { ...ann, 'x-forwarded-for': '10.1.2.3', 'x-real-ip': '10.1.2.3', forwarded: 'for=10.1.2.3' },
    { PROXY_ADDRESSES: '10.1.0.0/16', TRUSTED_PROXIES: '127.0.0.1' },
  )

  expect(read).toBeUndefined()
  expect(log.lines).toHaveLength(1)
  expect(log.lines.join()).not.toMatch(/\bann/)
})

test.for([
  ['10.1.255.255', true],
  ['::ffff:10.1.0.9', true],
  ['fd12::7', true],
  ['10.2.0.1', false],
  ['127.0.0.2', false],
  ['fe80::1', false],
  ['::1', false],
  ['', false],
  ['nonsense', false],
  [undefined, false],
] as const)('the headers of a login proxy from %s: %s', async ([address, trusted]) => {
  const { source } = await open()

  expect(source.read(distinct(ann), address)).toEqual(trusted ? identity : undefined)
})

test('the headers of a login proxy are normalised, and read as UTF-8', async () => {
  const sent = { 'x-login-user': ' ANN ', 'x-login-mail': 'Ann@Example.org', 'x-login-name': bytes('Änn Łukasz 李') }

  expect((await overTheWire(sent)).read).toEqual({ ...identity, name: 'Änn Łukasz 李' })
})

test.for([
  ['a username twice', { ...ann, 'x-login-user': ['ann', 'root'] }],
  ['a name twice', { ...ann, 'x-login-name': ['Ann', 'Root'] }],
  ['joined usernames', { ...ann, 'x-login-user': 'ann, root' }],
  ['a username that is a path', { ...ann, 'x-login-user': '../ann' }],
  ['an empty username', { ...ann, 'x-login-user': '' }],
  ['no e-mail address', { 'x-login-user': 'ann', 'x-login-name': 'Ann' }],
  ['no valid e-mail address', { ...ann, 'x-login-mail': 'ann' }],
  ['no name', { 'x-login-user': 'ann', 'x-login-mail': 'ann@example.org' }],
  ['bytes that are not UTF-8', { ...ann, 'x-login-name': 'Ann \xff\xfe' }],
  ['a name too long', { ...ann, 'x-login-name': 'A'.repeat(121) }],
  ['a username too long', { ...ann, 'x-login-user': 'a'.repeat(121) }],
  ['an e-mail address too long', { ...ann, 'x-login-mail': `${'a'.repeat(250)}@example.org` }],
  ['an unseen control character', { ...ann, 'x-login-name': bytes('Ann\u0085root') }],
] as const)('the headers of a login proxy with %s are nobody, and the log has no value', async ([, sent]) => {
  const { read, log } = await overTheWire(sent as unknown as Record<string, string | string[]>)

  expect(read).toBeUndefined()
  expect(log.lines).toHaveLength(1)
  expect(log.lines.join()).not.toMatch(/\b(ann|root)/i)
})

test('the headers of a login proxy with other names, or none, are no login and no word in the log', async () => {
  const others = { 'x-login_user': 'ann', x_login_user: 'ann', 'x-login-users': 'ann', 'remote-user': 'ann' }
  const { read, log } = await overTheWire({ ...others, 'x-login-mail': 'ann@example.org', 'x-login-name': 'Ann' })

  expect(read).toBeUndefined()
  expect(log.lines).toEqual([])
})

test('the headers of a login proxy come with the way out', async () => {
  expect((await open()).source.logoutUrl).toBe('/oauth2/sign_out')
})

test.for(['PROXY_ADDRESSES', 'PROXY_USERNAME_HEADER', 'PROXY_EMAIL_HEADER', 'PROXY_NAME_HEADER'])(
  'a login proxy without %s stops the start',
  (name) => {
    expect(() => readEnv({ ...settings, [name]: '' })).toThrow(name)
  },
)

test.for([
  ['PROXY_ADDRESSES', '10.0.0.0/40'],
  ['PROXY_ADDRESSES', 'proxy.example.org'],
  ['PROXY_USERNAME_HEADER', 'X_User'],
  ['PROXY_USERNAME_HEADER', 'X User'],
] as const)('%s=%s stops the start', ([name, value]) => {
  expect(() => readEnv({ ...settings, [name]: value })).toThrow(name)
})
