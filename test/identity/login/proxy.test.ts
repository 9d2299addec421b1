import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { Problem } from '../../../routers/core/problems.ts'
import type { Identity } from '../../../routers/ports/login.ts'
import { readEnv } from '../../../server/config/env.ts'
import { openLoginSources } from '../../../server/login/index.ts'
import { recordLog } from '../../kit/log.ts'

const settings = {
  AUTHENTICATION_METHOD: 'proxy',
  PROXY_ADDRESSES: '127.0.0.1, 10.1.0.0/16, fd00::/8',
  PROXY_USERNAME_HEADER: 'X-Login-User',
  PROXY_EMAIL_HEADER: 'X-Login-Mail',
  PROXY_NAME_HEADER: 'X-Login-Name',
  PROXY_LOGOUT_URL: '/oauth2/sign_out',
}
const ann = { 'x-login-user': 'ann', 'x-login-mail': 'ann@example.org', 'x-login-name': 'Ann' }
const identity = { subject: 'proxy:username ann', username: 'ann', email: 'ann@example.org', name: 'Ann' }

async function open(more: Record<string, string> = {}) {
  const log = recordLog()
  const { header } = await openLoginSources(readEnv({ ...settings, ...more }), log)
  return { source: header!, log }
}

/** Sends a request with these headers over a connection, and returns the login that is read from it. */
async function overTheWire(headers: Record<string, string | string[]>, more: Record<string, string> = {}) {
  const { source, log } = await open(more)
  let read: Identity | undefined
  let problem: unknown
  const server = createServer((incoming, answer) => {
    try {
      read = source.read(incoming.headersDistinct, incoming.socket.remoteAddress)
    } catch (error) {
      problem = (error as Problem).problem
    }
    answer.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pendingCall = request({ port, host: '127.0.0.1', headers }).end()
  const [answer] = (await once(pendingCall, 'response')) as [IncomingMessage]
  answer.resume()
  await once(answer, 'end')
  server.closeAllConnections()
  server.close()
  return { read, problem, log }
}

const toDistinct = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
const bytes = (text: string) => Buffer.from(text, 'utf8').toString('latin1')

test('the headers of a login proxy are read from its connections', async () => {
  expect((await overTheWire(ann)).read).toEqual(identity)
})

test('the headers of a login proxy are not read from any other address', async () => {
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

  expect(source.read(toDistinct(ann), address)).toEqual(trusted ? identity : undefined)
})

test('the headers of a login proxy are normalised, and read as UTF-8', async () => {
  const sent = { 'x-login-user': ' ANN ', 'x-login-mail': 'Ann@Example.org', 'x-login-name': bytes('Änn Łukasz 李') }

  expect((await overTheWire(sent)).read).toEqual({ ...identity, name: 'Änn Łukasz 李' })
})

test.for([
  ['a username twice', undefined, { ...ann, 'x-login-user': ['ann', 'root'] }],
  ['joined usernames', 'account_username_invalid', { ...ann, 'x-login-user': 'ann, root' }],
  ['a username that is a path', 'account_username_invalid', { ...ann, 'x-login-user': '../ann' }],
  ['an empty username', 'account_without_username', { ...ann, 'x-login-user': '' }],
  ['no e-mail address', 'account_without_email', { 'x-login-user': 'ann', 'x-login-name': 'Ann' }],
  ['an e-mail address twice', 'account_without_email', { ...ann, 'x-login-mail': ['a@b.cd', 'c@b.cd'] }],
  ['no valid e-mail address', 'account_email_invalid', { ...ann, 'x-login-mail': 'ann' }],
  ['a username too long', 'account_username_invalid', { ...ann, 'x-login-user': 'a'.repeat(121) }],
  ['an e-mail address too long', 'account_email_invalid', { ...ann, 'x-login-mail': `${'a'.repeat(250)}@example.org` }],
] as const)('the headers of a login proxy with %s sign nobody in, without logged values', async ([, word, sent]) => {
  const { read, problem, log } = await overTheWire(sent as unknown as Record<string, string | string[]>)

  expect([read, problem]).toEqual([undefined, word])
  expect(log.lines).toHaveLength(1)
  expect(log.lines.join()).not.toMatch(/\b(ann|root)/i)
})

test.for([
  ['twice', 'ann', { ...ann, 'x-login-name': ['Ann', 'Root'] }],
  ['missing', 'ann', { 'x-login-user': 'ann', 'x-login-mail': 'ann@example.org' }],
  ['of bytes that are not UTF-8', 'ann', { ...ann, 'x-login-name': 'Ann \xff\xfe' }],
  ['too long', 'A'.repeat(120), { ...ann, 'x-login-name': 'A'.repeat(121) }],
  ['with an unseen control character', 'Ann root', { ...ann, 'x-login-name': bytes('Ann\u0085root') }],
  ['with a bidi override', 'Anntoor', { ...ann, 'x-login-name': bytes('Ann\u202etoor') }],
] as const)('a display name of a login proxy that is %s keeps nobody out', async ([, name, sent]) => {
  const { read } = await overTheWire(sent as unknown as Record<string, string | string[]>)

  expect(read?.name).toBe(name)
})

test.for([
  ['an id in its own header', { 'x-login-id': 'A-17' }, { subject: 'proxy:A-17', formerSubject: 'proxy:username ann' }],
  ['no id', {}, 'account_without_subject'],
  ['two ids', { 'x-login-id': ['A-17', 'A-18'] }, 'account_without_subject'],
] as const)('the headers of a login proxy with %s bind to the id alone', async ([, more, expected]) => {
  const headers = { ...ann, ...more } as unknown as Record<string, string | string[]>

  const { read, problem } = await overTheWire(headers, { PROXY_SUBJECT_HEADER: 'X-Login-Id' })

  if (typeof expected === 'string') expect([read, problem]).toEqual([undefined, expected])
  else expect(read).toEqual({ ...identity, ...expected })
})

test('the headers of a login proxy under other names are ignored without a log', async () => {
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
