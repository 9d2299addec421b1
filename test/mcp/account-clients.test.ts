import { beforeAll, describe, expect, test } from 'vitest'
import { startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { signIn, type TestBrowser } from '../kit/browser.ts'
import { createApiClient } from '../kit/json-api/client.ts'
import { startAccountServer } from '../kit/mcp/account-server.ts'
import { fetchExport, makeExport } from '../kit/person-export.ts'
import { productionSettings } from '../kit/production.ts'
import { shareResource } from '../kit/share-resource.ts'

const SECRET = 'CANARY-the-entered-secret'
const server = shareResource(startAccountServer)
const upstream = shareResource(startProvider)

const buildServer = (more: object = {}) => ({ label: 'Library', url: server.url, account: 'person', ...more })

const connect = async (browser: TestBrowser, id: number) => {
  const { body } = await browser.send('POST', '/trpc/toolAccounts.connect', { body: { server: id } })
  const { result, error } = body as { result?: { data: { redirectUri: string } }; error?: { message: string } }
  return { url: new URL(result?.data.redirectUri ?? 'about:blank'), message: error?.message }
}

const findServer = async (svc: TestApp) =>
  (await svc.rows<{ id: number }>("select id from mcp_servers where server_label = 'Library'"))[0]?.id ?? 0

async function startWith(more: object, settings: Record<string, string> = {}) {
  await using startup = new AsyncDisposableStack()
  const config = startup.use(await writeConfig(upstream.url, { more: { mcpServers: [buildServer(more)] } }))
  const svc = startup.use(await startApp({ AI_CONFIG: config.file, ...settings }))
  const resources = startup.move()
  return Object.assign(svc, { config, [Symbol.asyncDispose]: () => resources.disposeAsync() })
}

describe('the client', () => {
  test('the client of the configuration file keeps its scopes and a sealed secret', async () => {
    const oauth = { clientId: 'entered', clientSecret: SECRET, scopes: ['tools', 'more'], issuer: server.issuer }
    await using svc = await startWith({ oauth })
    const { browser } = await signIn(svc)
    const { url } = await connect(browser, await findServer(svc))
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: 'entered',
      scope: 'tools more',
      resource: server.url,
      code_challenge_method: 'S256',
      redirect_uri: `${svc.services.settings.baseUrl}/settings/accounts/back`,
    })
    const admin = createApiClient(svc, (await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })).token)
    const { one } = await admin.get(`/mcp-servers/${await findServer(svc)}`)
    expect(one.attributes).toMatchObject({ account: 'person', oauthClientId: 'entered', oauthClientSecret: '********' })
    expect(JSON.stringify(await svc.rows('select s::text from mcp_servers s'))).not.toContain(SECRET)
    expect(await svc.host.mcp.accounts()).toEqual([
      { server: 'Library', issuer: server.issuer, client: 'entered', scopes: ['tools', 'more'], reason: null },
    ])
  })

  test('a server of own accounts has no key that all share', async () => {
    await using svc = await startWith({})
    const admin = createApiClient(svc, (await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })).token)
    const id = await findServer(svc)
    const { status, errors } = await admin.update('mcp-servers', id, { apiKey: SECRET })
    expect(status).toBe(422)
    expect(JSON.stringify(errors)).toContain('while there is an apiKey')
  })

  test('an ID token of another algorithm than RS256 names the account', async () => {
    await using svc = await startWith({ oauth: { scopes: ['openid', 'tools'] } })
    const { browser } = await signIn(svc)
    server.signedIn = 'signer'
    const connectAccount = async () => {
      const { url } = await connect(browser, await findServer(svc))
      const { pathname, search } = new URL(await server.authorize(url.href))
      return (await browser.send('GET', pathname + search)).headers.get('location')
    }
    server.metadata = { id_token_signing_alg_values_supported: ['RS256', 'none'] }
    const { revocations } = server
    expect(await connectAccount()).toContain('failed=unavailable')
    expect(server.revocations - revocations).toBe(2)
    server.metadata = {}
    expect(await connectAccount()).toContain('connected=')
    expect(await svc.rows('select account from mcp_connections')).toEqual([{ account: 'signer' }])
  })

  test('a public service is known by its document, which says where people return', async () => {
    server.metadata = { client_id_metadata_document_supported: true }
    const settings = { ...productionSettings, BASE_URL: 'https://chat.example.org' }
    await using svc = await startWith({ oauth: { issuer: server.issuer } }, settings)
    const response = await svc.send('GET', '/oauth/client.json')
    expect(await response.json()).toMatchObject({
      client_id: 'https://chat.example.org/oauth/client.json',
      redirect_uris: ['https://chat.example.org/settings/accounts/back'],
      token_endpoint_auth_method: 'none',
    })
    expect(await svc.host.mcp.accounts()).toMatchObject([{ client: 'document', reason: null }])
    server.metadata = {}
  })

  test('in production no address of this machine is followed that nobody entered', async () => {
    await using svc = await startWith({}, { ...productionSettings, BASE_URL: 'https://chat.example.org' })
    const [report] = await svc.host.mcp.accounts()
    expect(report).toMatchObject({
      issuer: null,
      reason: `The authorization server: its address ${server.issuer} is not encrypted`,
    })
  })
})

describe('the entered secret', () => {
  const ENTERED = 'the entered secret'
  const resources = shareResource(() =>
    startWith(
      { oauth: { clientId: 'entered', clientSecret: ENTERED, issuer: server.issuer } },
      { BASE_URL: 'http://127.0.0.1' },
    ),
  )

  /** Connects the account of an administrator; returns what reads the tools with an access token that has ended. */
  async function connectAdmin(name: string) {
    const svc = resources
    const admin = await signIn(svc, name)
    await svc.host.admin.setRole({ user: { id: admin.id }, role: 'admin' })
    await admin.browser.login(name)
    const api = createApiClient(svc, (await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })).token)
    const id = await findServer(svc)
    const change = async (attributes: object) =>
      expect((await api.update('mcp-servers', id, attributes)).status).toBe(200)
    await change({ oauthClientSecret: ENTERED, oauthIssuer: server.issuer })
    server.signedIn = name
    const { pathname, search } = new URL(await server.authorize((await connect(admin.browser, id)).url.href))
    await admin.browser.send('GET', pathname + search)
    const find = () =>
      svc.rows<{ state: string; tokens: string | null }>(
        'select state, tokens from mcp_connections where user_id = $1',
        [admin.id],
      )
    expect(await find()).toMatchObject([{ state: 'active' }])
    const refresh = async () => {
      await svc.rows("update mcp_connections set expires_at = now() - interval '1 hour' where user_id = $1", [admin.id])
      await admin.browser.send('POST', '/trpc/mcp.sync', { body: {} })
      return (await find())[0]
    }
    const disconnect = async () => {
      const { body } = await admin.browser.send('POST', '/trpc/toolAccounts.disconnect', { body: { server: id } })
      return (body as { result: { data: unknown } }).result.data
    }
    return { change, refresh, find, disconnect }
  }

  test('a mistyped secret ends no account, and a corrected one renews it', async () => {
    const { change, refresh, find } = await connectAdmin('typist')
    const [before] = await find()
    await change({ oauthClientSecret: SECRET })
    expect(await refresh()).toEqual(before)
    expect(server.secrets.at(-1)).toBe(SECRET)
    await change({ oauthClientSecret: ENTERED })
    const after = await refresh()
    expect(after?.state).toBe('active')
    expect(after?.tokens).not.toBe(before?.tokens)
  })

  test('a secret for another authorization server is never sent to the former one', async () => {
    const { change, refresh } = await connectAdmin('mover')
    const [sent, revoked] = [server.secrets.length, server.revocations]
    await change({ oauthClientSecret: SECRET, oauthIssuer: 'https://sso.example.org' })
    expect(await refresh()).toEqual({ state: 'expired', tokens: null })
    expect(new Set(server.secrets.slice(sent))).toEqual(new Set([ENTERED]))
    expect(server.revocations).toBeGreaterThan(revoked)
  })

  test('an account is ended with the secret of now', async () => {
    const { change, disconnect } = await connectAdmin('leaver')
    const entered = await server.provider.Client.find('entered')
    Object.assign(entered ?? {}, { clientSecret: SECRET })
    await change({ oauthClientSecret: SECRET })
    expect(await disconnect()).toEqual({ isRevoked: true })
    expect(server.secrets.at(-1)).toBe(SECRET)
    Object.assign(entered ?? {}, { clientSecret: ENTERED })
  })

  test('a secret of another client is never sent for the former one', async () => {
    const { change, refresh } = await connectAdmin('renamer')
    const sent = server.secrets.length
    await change({ oauthClientSecret: SECRET, oauthClientId: 'another' })
    expect(await refresh()).toEqual({ state: 'expired', tokens: null })
    expect(new Set(server.secrets.slice(sent))).toEqual(new Set([ENTERED]))
    await change({ oauthClientId: 'entered' })
  })
})

describe('the end', () => {
  const shared = shareResource(() => startWith({}))
  let svc: TestApp
  beforeAll(() => {
    svc = shared
  })

  /** Adds a person with an account; returns the token of it. */
  async function addPerson(username: string) {
    const person = await signIn(svc, username)
    server.signedIn = username
    const { url, message } = await connect(person.browser, await findServer(svc))
    expect(message).toBeUndefined()
    const { pathname, search } = new URL(await server.authorize(url.href))
    await person.browser.send('GET', pathname + search)
    return person
  }

  const countConnections = async () => (await svc.rows('select id from mcp_connections')).length

  test('an export has the account of its person without secrets', async () => {
    const { browser } = await addPerson('exporter')
    const { id } = await makeExport(browser)
    const { bytes } = await fetchExport(svc, browser, id)
    const { unzipSync, strFromU8 } = await import('fflate')
    const texts = Object.entries(unzipSync(bytes)).map(([name, content]) => `${name} ${strFromU8(content)}`)
    const found = texts.find((text) => text.includes('mcp-connections')) ?? ''
    expect(found).toContain(server.issuer)
    expect(found).not.toMatch(/v1\.[0-9a-f]{8}\./)
  })

  test('a server with another address ends all accounts, there and here', async () => {
    await addPerson('movers')
    const before = server.revocations
    const id = await findServer(svc)
    const admin = createApiClient(svc, (await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })).token)
    const attributes = { url: 'https://elsewhere.example.org/mcp' }
    const data = { type: 'mcp-servers', id: String(id), attributes }
    expect((await admin.send('PATCH', `/mcp-servers/${id}`, { data })).status).toBe(200)
    expect(await countConnections()).toBe(0)
    await expect.poll(() => server.revocations).toBeGreaterThan(before)
  })
})
