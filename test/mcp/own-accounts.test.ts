import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SERVER_CONFIG, SERVER_KEY } from '../../routers/ports/vault.ts'
import { buildQuestion, callsTool, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { startAccountServer } from '../kit/mcp/account-server.ts'
import { callTool, sendRpc } from '../kit/mcp/gateway.ts'
import { createAiRoom, requestRoomAnswer } from '../kit/rooms/ai.ts'
import { shareResource } from '../kit/share-resource.ts'

const TOOL = 'library_whoami'
const SHARED_KEY = 'CANARY-the-key-that-all-share'

const server = shareResource(startAccountServer)
const upstream = shareResource(startProvider)
const config = shareResource(() => {
  const mcpServers = [{ label: 'Library', url: server.url, account: 'person' }]
  return writeConfig(upstream.url, { model: { tools: [TOOL] }, more: { mcpServers } })
})
const settings = { ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true', APP_KEY: 'a key of thirty-two characters, or more' }
const svc = shareResource(() => startApp({ AI_CONFIG: config.file, ...settings }))

interface Person {
  id: number
  token: string
  browser: TestBrowser
}

let id: number
let admin: Person

async function call(browser: TestBrowser, path: string, input?: object) {
  const isQuery = input === undefined
  const { status, body } = await browser.send(isQuery ? 'GET' : 'POST', `/trpc/${path}`, isQuery ? {} : { body: input })
  const { result, error } = body as { result?: { data: unknown }; error?: { message: string } }
  return { status, data: result?.data as Record<string, string>, message: error?.message }
}

const connect = (browser: TestBrowser) => call(browser, 'toolAccounts.connect', { server: id })

/** Begins to connect an account, and signs in at the server; returns the path to which that leads back. */
async function comeBack(browser: TestBrowser, name: string): Promise<string> {
  server.signedIn = name
  const { data, message } = await connect(browser)
  if (!data) throw new Error(message)
  const { pathname, search } = new URL(await server.authorize(data['redirectUri'] ?? ''))
  return pathname + search
}

const follow = async (browser: TestBrowser, path: string) => (await browser.send('GET', path)).headers.get('location')

const connectAs = async (browser: TestBrowser, name: string) => follow(browser, await comeBack(browser, name))

const readState = async (browser: TestBrowser) => {
  const { data } = await call(browser, 'toolAccounts.list')
  return (data as unknown as { state: string | null }[])[0]?.state
}

let counter = 0

/** Adds a person who is signed in, and has an account at the server if it is named. */
async function addPerson(account?: string): Promise<Person> {
  const person = await signIn(svc, `person${++counter}`)
  if (account) expect(await connectAs(person.browser, account)).toBe(`/settings/accounts?connected=${id}`)
  return person
}

const connectionsOf = ({ id }: Pick<Person, 'id'>) =>
  svc.rows<{ state: string }>('select * from mcp_connections where user_id = $1', [id])

const endAccessToken = ({ id }: Pick<Person, 'id'>) =>
  svc.rows("update mcp_connections set expires_at = now() - interval '1 hour' where user_id = $1", [id])

/** Returns the tool result that the model got when the person asked. */
async function ask({ token }: Pick<Person, 'token'>, app = svc): Promise<string> {
  const sent = upstream.requests.length
  const response = await app.send('POST', '/api/ai-req', { token, body: buildQuestion() })
  expect(response.status).toBe(200)
  const answered = upstream.requests.slice(sent).map(({ body }) => body.messages.at(-1))
  return String(answered.find((message) => message?.role === 'tool')?.content)
}

const missing = () =>
  `This needs your own account at Library, and none is connected. Connect it at ${svc.services.settings.baseUrl}/settings/accounts?server=${id}, then ask again.`

beforeAll(async () => {
  admin = await signIn(svc, 'admin')
  await svc.host.admin.setRole({ user: { id: admin.id }, role: 'admin' })
  await admin.browser.login('admin')
  const servers = await svc.rows<{ id: number }>('select id from mcp_servers')
  id = servers[0]?.id ?? 0
  // Servers may have shared credentials from before their people had accounts of their own.
  const headers = { Cookie: SHARED_KEY, 'X-Api-Key': SHARED_KEY, 'Accept-Language': 'eo' }
  const { vault } = svc.services
  const [key, config] = [vault.seal(SHARED_KEY, SERVER_KEY), vault.seal(JSON.stringify({ headers }), SERVER_CONFIG)]
  await svc.changeCatalogue(`update mcp_servers set api_key = '${key}', additional_config = '${config}'`)
})

beforeEach(async () => {
  Object.assign(server, { declines: false, resource: {}, metadata: {}, delay: 0, rotates: true, refreshed: undefined })
  upstream.behave = callsTool(TOOL, '{}')
  if (await isApproved()) return
  await connectAs(admin.browser, 'the-administrator')
  await call(admin.browser, 'mcp.sync', {})
  const [{ hash = '' } = {}] = await svc.host.mcp.tools()
  await svc.host.mcp.approve({ name: TOOL, hash })
})

const isApproved = async () => (await svc.host.mcp.tools()).some(({ isApproved }) => isApproved)

describe('a call', () => {
  test('a tool is called with the own account of whoever asks', async () => {
    const [ada, bea] = [await addPerson('ada-there'), await addPerson('bea-there')]
    expect([await ask(ada), await ask(bea)]).toEqual(['You are ada-there.', 'You are bea-there.'])
  })

  test('no configured header that all share goes along', async () => {
    const called = server.headers.length
    expect(await ask(await addPerson('ada-there'))).toBe('You are ada-there.')
    const sent = server.headers.slice(called)
    expect(sent.map((headers) => headers['accept-language'])).toContain('eo')
    expect(JSON.stringify(sent)).not.toContain(SHARED_KEY)
  })

  test("without an account neither another's nor the shared key is used", async () => {
    await addPerson('somebody')
    const carl = await addPerson()
    const called = server.headers.length
    expect(await ask(carl)).toBe(missing())
    expect(server.headers.length).toBe(called)
    expect(JSON.stringify(server.headers)).not.toContain(SHARED_KEY)
  })

  test('a call for which the account is missing is not made, and costs nothing', async () => {
    await svc.changeCatalogue("update mcp_servers set price_per_call = '0.01 EUR'")
    const carl = await addPerson()
    expect(await ask(carl)).toBe(missing())
    await svc.changeCatalogue('update mcp_servers set price_per_call = null')
    const uses = () => svc.rows('select outcome, cost_micros from tool_uses where user_id = $1', [carl.id])
    await expect.poll(uses).toEqual([{ outcome: 'unmade', cost_micros: null }])
    expect(await svc.rows("select from usage_records where user_id = $1 and kind = 'tool'", [carl.id])).toEqual([])
  })

  test('in a room the account of the person who asks is used', async () => {
    const room = await createAiRoom({ svc } as never, ['editor'])
    const connected = await addPerson('editor-there')
    await svc.rows('update mcp_connections set user_id = $2 where user_id = $1', [connected.id, room.editor.id])
    const read = async (by: typeof room.editor) => {
      const sent = upstream.requests.length
      await requestRoomAnswer(by, room.id, 'Who am I there?')
      const find = () => upstream.requests.slice(sent).map(({ body }) => body.messages.at(-1))
      await expect.poll(() => find().some((message) => message?.role === 'tool')).toBe(true)
      return String(find().find((message) => message?.role === 'tool')?.content)
    }
    expect(await read(room.editor)).toBe('You are editor-there.')
    expect(await read(room.admin)).toBe(missing())
  })

  test('at the gateway the account of the person of the token is used', async () => {
    const [ada, carl] = [await addPerson('ada-there'), await addPerson()]
    const callAs = async ({ id }: Person) => {
      const { token } = await svc.host.tokens.createFor({ user: { id }, name: 'program', abilities: ['mcp'] })
      return (await callTool(svc, TOOL, { token })).result
    }
    expect(await callAs(ada)).toMatchObject({ content: [{ text: 'You are ada-there.' }] })
    expect(await callAs(carl)).toMatchObject({ content: [{ text: missing() }], isError: true })
  })

  test('prompts and resources are those of the account of whoever asks', async () => {
    await svc.changeCatalogue(`update mcp_servers set offers = '{prompts,resources}'`)
    await call(admin.browser, 'mcp.sync', {})
    for (const { name, hash, isApproved } of await svc.host.mcp.tools())
      if (!isApproved) await svc.host.mcp.approve({ name, hash })
    const ask = async ({ id: person }: Person) => {
      const { token } = await svc.host.tokens.createFor({ user: { id: person }, name: 'reader', abilities: ['mcp'] })
      const uri = `svc://${id}/library%3A%2F%2Fshelf`
      return [
        await sendRpc(svc, 'prompts/get', { token, params: { name: 'library_greet' } }),
        await sendRpc(svc, 'resources/read', { token, params: { uri } }),
      ].map((answer) => JSON.stringify(answer))
    }
    const ofAda = await ask(await addPerson('ada-there'))
    expect(ofAda).toEqual([
      expect.stringContaining('You are ada-there.'),
      expect.stringContaining('You are ada-there.'),
    ])
    const called = server.headers.length
    for (const answer of await ask(await addPerson()))
      expect(answer).toContain('This needs your own account at Library')
    expect(server.headers.length).toBe(called)
    await svc.changeCatalogue(`update mcp_servers set offers = '{}'`)
  })

  test('a check by the host needs no account to find the server online', async () => {
    const [report] = await svc.host.mcp.check()
    expect(report).toEqual({ server: 'Library', status: 'online', reason: missing() })
    expect((await svc.host.mcp.tools()).map(({ name }) => name)).toContain(TOOL)
  })
})

describe('an expired token', () => {
  test('ten calls at two replicas cause one refresh', async () => {
    await using second = await startApp({
      AI_CONFIG: config.file,
      ...settings,
      DATABASE_URL: svc.env.DATABASE_URL ?? '',
    })
    const ada = await addPerson('ada-there')
    await endAccessToken(ada)
    const { refreshes } = server
    server.delay = 300
    const apps = Array.from({ length: 10 }, (_, index) => (index % 2 ? svc : second))
    const answers = await Promise.all(
      apps.map((app) => app.send('POST', '/api/ai-req', { token: ada.token, body: buildQuestion() })),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(server.refreshes - refreshes).toBe(1)
    expect(await ask(ada)).toBe('You are ada-there.')
  })

  test('a token that the server refuses is renewed once, and the call repeated', async () => {
    const ada = await addPerson('ada-there')
    await ask(ada)
    await server.expire(server.tokens.at(-1))
    const { refreshes } = server
    expect(await ask(ada)).toBe('You are ada-there.')
    expect(server.refreshes - refreshes).toBe(1)
    const [used, renewed] = server.tokens.slice(-2)
    expect(renewed).not.toBe(used)
  })

  test('an account lasts where the server keeps its refresh token', async () => {
    const ada = await addPerson('ada-there')
    server.rotates = false
    const { refreshes } = server
    for (let round = 0; round < 2; round++) {
      await endAccessToken(ada)
      expect(await ask(ada)).toBe('You are ada-there.')
    }
    expect(server.refreshes - refreshes).toBe(2)
  })

  test('a server that forgot our registration gets a new one', async () => {
    const ada = await addPerson('ada-there')
    const { data } = await connect(ada.browser)
    await server.forgetClient(new URL(data['redirectUri'] ?? '').searchParams.get('client_id') ?? '')
    await endAccessToken(ada)
    expect(await ask(ada)).toContain('it has ended there')
    expect(await readState(ada.browser)).toBe('expired')
    expect(await connectAs(ada.browser, 'ada-again')).toBe(`/settings/accounts?connected=${id}`)
    expect(await ask(ada)).toBe('You are ada-again.')
  })

  test('a refused refresh is told to the person, and not tried again', async () => {
    const ada = await addPerson('ada-there')
    await ask(ada)
    const token = await server.provider.AccessToken.find(String(server.tokens.at(-1)).replace('Bearer ', ''))
    await server.provider.RefreshToken.revokeByGrantId(token?.grantId ?? '')
    await server.provider.AccessToken.revokeByGrantId(token?.grantId ?? '')
    const { refusals } = server

    expect(await ask(ada)).toMatch(
      /^This needs your own account at Library, and it has ended there\. Connect it again at /,
    )
    await ask(ada)

    expect(server.refusals - refusals).toBe(1)
    expect(await readState(ada.browser)).toBe('expired')
    expect(await connectAs(ada.browser, 'ada-again')).toBe(`/settings/accounts?connected=${id}`)
    expect(await ask(ada)).toBe('You are ada-again.')
  })

  test('a refresh takes part of the time that the call may take', async () => {
    const ada = await addPerson('ada-there')
    await endAccessToken(ada)
    const gate = Promise.withResolvers<void>()
    server.refreshed = gate.promise
    await svc.changeCatalogue(`update mcp_servers set timeouts = '{"read": 400}'`)
    expect(await ask(ada)).toBe('The tool server failed: it did not answer in time.')
    await svc.changeCatalogue(`update mcp_servers set timeouts = '{}'`)
    gate.resolve()
    await expect.poll(() => ask(ada)).toBe('You are ada-there.')
  })

  test('an authorization server that is down ends no account', async () => {
    const ada = await addPerson('ada-there')
    await endAccessToken(ada)
    server.isDown = true
    expect(await ask(ada)).toBe('The tool server failed: its authorization server renews no tokens now.')
    server.isDown = false
    expect(await ask(ada)).toBe('You are ada-there.')
  })
})

describe('connecting', () => {
  test('only a session of the person connects, sees and ends an account', async () => {
    const guest = openBrowser(svc.url)
    expect((await connect(guest)).status).toBe(401)
    expect((await call(guest, 'toolAccounts.list')).status).toBe(401)
    expect((await call(guest, 'toolAccounts.disconnect', { server: id })).status).toBe(401)
    const ada = await addPerson('ada-there')
    const { status } = await svc.send('POST', '/trpc/toolAccounts.connect', { token: ada.token, body: { server: id } })
    expect(status).toBe(403)
    const foreign = {
      body: { server: id },
      headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    }
    expect((await ada.browser.send('POST', '/trpc/toolAccounts.connect', foreign)).status).toBe(403)
    const bea = await addPerson()
    expect((await call(bea.browser, 'toolAccounts.disconnect', { server: id })).status).toBe(404)
    expect([await readState(ada.browser), await readState(bea.browser)]).toEqual(['active', null])
  })

  test('the way back works once, and in the session where it began', async () => {
    const [ada, bea] = [await addPerson(), await addPerson()]
    const back = await comeBack(ada.browser, 'ada-there')
    const other = openBrowser(svc.url)
    await other.login(
      (await svc.rows<{ username: string }>('select username from users where id = $1', [ada.id]))[0]?.username ?? '',
    )
    const refused = '/settings/accounts?failed=connect_request_invalid'
    expect([await follow(bea.browser, back), await follow(other, back)]).toEqual([refused, refused])
    expect(await follow(openBrowser(svc.url), back)).toBe('/login?redirectUri=/settings/accounts')
    expect([await connectionsOf(ada), await connectionsOf(bea)]).toEqual([[], []])

    expect(await follow(ada.browser, back)).toBe(`/settings/accounts?connected=${id}`)
    expect(await follow(ada.browser, back)).toBe(refused)
    expect(await connectionsOf(ada)).toHaveLength(1)
  })

  test('the address that one person gets connects the account of whoever opens it', async () => {
    const [ada, bea] = [await addPerson(), await addPerson()]
    const address = /http\S+server=\d+/.exec(await ask(ada))?.[0] ?? ''
    expect(address).toBe(`${svc.services.settings.baseUrl}/settings/accounts?server=${id}`)
    expect((await bea.browser.send('GET', new URL(address).pathname + new URL(address).search)).status).toBe(200)
    expect([await connectionsOf(ada), await connectionsOf(bea)]).toEqual([[], []])
    await connectAs(bea.browser, 'bea-there')
    expect([await connectionsOf(ada), (await connectionsOf(bea)).length]).toEqual([[], 1])
  })

  test('a server for some groups is listed and connected for them alone', async () => {
    const [ada, bea] = [await addPerson(), await addPerson()]
    await svc.rows("update users set groups = '{readers}' where id = $1", [ada.id])
    await svc.changeCatalogue("update mcp_servers set groups = '{readers}'")
    expect([await readState(ada.browser), await readState(bea.browser)]).toEqual([null, undefined])
    expect([(await connect(ada.browser)).status, (await connect(bea.browser)).status]).toEqual([200, 404])
    await svc.changeCatalogue("update mcp_servers set groups = '{}'")
  })

  test('somebody who declines at the server has no account', async () => {
    const ada = await addPerson()
    server.declines = true
    expect(await connectAs(ada.browser, 'ada-there')).toBe('/settings/accounts?failed=not_permitted')
    expect(await connectionsOf(ada)).toEqual([])
  })

  test('an answer of another issuer is refused', async () => {
    const ada = await addPerson()
    const back = await comeBack(ada.browser, 'ada-there')
    const foreign = back.replace(encodeURIComponent(server.issuer), encodeURIComponent('https://evil.example'))
    expect(foreign).not.toBe(back)
    expect(await follow(ada.browser, foreign)).toBe('/settings/accounts?failed=unavailable')
    expect(await connectionsOf(ada)).toEqual([])
  })

  test('somebody who connects again is the same client of the server', async () => {
    const ada = await addPerson('ada-there')
    const { registrations } = server
    await connectAs(ada.browser, 'ada-again')
    expect(server.registrations).toBe(registrations)
    expect(await ask(ada)).toBe('You are ada-again.')
  })

  const inward = 'https://10.0.0.1/x'
  test.each([
    ['resource', { authorization_servers: [inward] }, 'The authorization server: its address is not public'],
    ['resource', { authorization_servers: ['http://sso.example.org'] }, 'is not encrypted'],
    ['resource', { authorization_servers: ['javascript:alert(1)'] }, 'begins with javascript:'],
    ['resource', { resource: 'https://other.example.org/mcp' }, 'describe another address'],
    ['metadata', { issuer: 'https://other.example.org' }, 'they name another issuer'],
    [
      'metadata',
      { authorization_endpoint: 'javascript:alert(1)' },
      'The authorization endpoint: its address begins with javascript:',
    ],
    ['metadata', { token_endpoint: inward }, 'The token endpoint: its address is not public'],
    [
      'metadata',
      { token_endpoint: 'http://sso.example.org/token' },
      'The token endpoint: its address http://sso.example.org is not encrypted',
    ],
    [
      'metadata',
      { registration_endpoint: 'https://[fd00::1]/reg' },
      'The registration endpoint: its address is not public',
    ],
    [
      'metadata',
      { revocation_endpoint: 'https://169.254.169.254/' },
      'The revocation endpoint: its address is not public',
    ],
    ['metadata', { code_challenge_methods_supported: ['plain'] }, 'they do not promise PKCE'],
    ['metadata', { registration_endpoint: undefined }, 'an administrator must enter a client id'],
  ])('%s %j is refused by its step', async (document, members, reason) => {
    const ada = await addPerson()
    Object.assign(server, { [document]: members })
    const { status, message } = await connect(ada.browser)
    expect(status).toBe(503)
    expect(message).toMatch(/^Library cannot be connected\. The /)
    expect(message).toContain(reason)
  })
})

describe('the end of an account', () => {
  test('a person ends it here and at the server', async () => {
    const ada = await addPerson('ada-there')
    await ask(ada)
    const token = String(server.tokens.at(-1)).replace('Bearer ', '')
    const { data } = await call(ada.browser, 'toolAccounts.disconnect', { server: id })
    expect(data).toEqual({ isRevoked: true })
    expect(await server.provider.AccessToken.find(token)).toBeUndefined()
    expect(await connectionsOf(ada)).toEqual([])
    expect(await ask(ada)).toBe(missing())
  })

  test('with its person it is ended at the server', async () => {
    const ada = await addPerson('ada-there')
    await ask(ada)
    const token = String(server.tokens.at(-1)).replace('Bearer ', '')
    await svc.host.admin.removeUser({ user: { id: ada.id } })
    expect(await connectionsOf(ada)).toEqual([])
    await expect.poll(() => server.provider.AccessToken.find(token)).toBeUndefined()
  })

  test('a refused erasure of its person ends nothing', async () => {
    await connectAs(admin.browser, 'the-administrator')
    await svc.rows("update users set role = 'user' where id <> $1", [admin.id])
    const { revocations } = server
    const { status, message } = await call(admin.browser, 'admin.removeUser', { user: { id: admin.id } })
    expect([status, message]).toEqual([409, expect.stringContaining('Nobody would administer')])
    expect(await readState(admin.browser)).toBe('active')
    expect(await ask(admin)).toBe('You are the-administrator.')
    expect(server.revocations).toBe(revocations)
  })

  test('tokens that come after the end are ended at the server, too', async () => {
    const ada = await addPerson('ada-there')
    await endAccessToken(ada)
    const { refreshes, revocations } = server
    const { promise, resolve } = Promise.withResolvers<void>()
    server.refreshed = promise
    const answer = ask(ada)
    await expect.poll(() => server.refreshes).toBe(refreshes + 1)
    await call(ada.browser, 'toolAccounts.disconnect', { server: id })
    expect(server.revocations - revocations).toBe(2)
    resolve()
    expect(await answer).toBe(missing())
    expect(server.revocations - revocations).toBe(4)
    expect(await connectionsOf(ada)).toEqual([])
  })

  test('tokens that new ones replace are ended at the server', async () => {
    const ada = await addPerson('ada-there')
    await ask(ada)
    const token = String(server.tokens.at(-1)).replace('Bearer ', '')
    await connectAs(ada.browser, 'ada-again')
    expect(await server.provider.AccessToken.find(token)).toBeUndefined()
    expect(await ask(ada)).toBe('You are ada-again.')
  })
})

test('no model, log or table sees a secret of an account', async () => {
  const ada = await addPerson('ada-there')
  await ask(ada)
  const token = String(server.tokens.at(-1)).replace('Bearer ', '')
  const rows = await svc.rows('select m::text from mcp_connections m union all select a::text from audit_entries a')
  const { data } = await call(ada.browser, 'toolAccounts.list')
  const seen = JSON.stringify([upstream.requests, svc.log, rows, data])
  expect(token.length).toBeGreaterThan(20)
  expect(seen).not.toContain(token)
  expect(seen).not.toContain('CANARY-UPSTREAM')
  for (const own of [ada.token, ada.browser.session ?? '']) expect(JSON.stringify(server.headers)).not.toContain(own)
})
