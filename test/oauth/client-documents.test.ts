import type { Http2ServerResponse } from 'node:http2'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { HostOutage } from '../../routers/ports/client-documents.ts'
import { createClientDocuments } from '../../server/net/client-documents.ts'
import { openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { advanceClock } from '../kit/clock.ts'
import { newName } from '../kit/identity/people.ts'
import { startTlsServer, trustAuthority } from '../kit/net/tls-server.ts'
import {
  buildQuery,
  callFromPage,
  makeVerifier,
  registerProgram,
  showRequest,
  signInProgram,
  startOAuth,
  tryToken,
} from '../kit/oauth/program.ts'
import { shareResource } from '../kit/share-resource.ts'

const BACK = 'http://localhost/callback'

/** A host of client documents, which counts how often each was fetched. */
async function startDocumentHost() {
  const fetches = new Map<string, number>()
  const answers = new Map<string, (response: Http2ServerResponse) => void>()
  const server = await startTlsServer((request, response) => {
    const { pathname } = new URL(request.url, 'https://localhost')
    fetches.set(pathname, (fetches.get(pathname) ?? 0) + 1)
    const answer = answers.get(pathname)
    if (answer) answer(response)
    else response.writeHead(404).end()
  })
  const trusted = await trustAuthority(server.caFile)
  return {
    host: new URL(server.url).host,
    countFetches: (path: string) => fetches.get(path) ?? 0,
    /** Serves something at a path; returns its address. */
    serve(path: string, answer: (response: Http2ServerResponse) => void) {
      answers.set(path, answer)
      return server.url + path
    },
    /** Serves the document of a client at a path; returns its address, which is the client's id. */
    publish(path: string, more: object = {}, headers: Record<string, string> = {}) {
      const document = { client_id: server.url + path, client_name: 'Agent', redirect_uris: [BACK], ...more }
      return this.serve(path, (response) => {
        response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(document))
      })
    },
    async [Symbol.asyncDispose]() {
      trusted[Symbol.dispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

const site = shareResource(startDocumentHost)
const APP_KEY = 'a key of thirty-two characters, or more'
const svc = shareResource(() => startOAuth({ OAUTH_CLIENTS: 'documents', OAUTH_CLIENT_HOSTS: site.host, APP_KEY }))

/** Starts the service on the same data with other settings, as after a restart. */
const restart = (settings: Record<string, string>) => {
  const { DATABASE_URL = '', BASE_URL = '' } = svc.env
  return startOAuth({ OAUTH_CLIENTS: 'documents', DATABASE_URL, BASE_URL, APP_KEY, ...settings })
}

afterEach(() => void vi.useRealTimers())

const LOCAL = 'http://localhost:5050/callback'
const ask = (clientId: string, redirect_uri = LOCAL) =>
  buildQuery({ clientId, verifier: makeVerifier(), parameters: { redirect_uri } })

/** Returns a browser with the session of another one, at a service with the same data. */
function visitAs({ cookies }: TestBrowser, { url }: { url: string }): TestBrowser {
  const browser = openBrowser(url)
  for (const [name, value] of cookies) browser.cookies.set(name, value)
  return browser
}

/** Signs a program in by its document, whose stored copy is no longer fresh afterwards. */
async function signInOnce(browser: TestBrowser, clientId: string) {
  const program = await signInProgram(svc, browser, { clientId, parameters: { redirect_uri: LOCAL } })
  await svc.rows("update oauth_clients set fresh_until = now() - interval '1 second' where client_id = $1", [clientId])
  return program
}

describe('the document of a program', () => {
  test('names it, and lets it sign people in from any loopback port', async () => {
    const { browser } = await signIn(svc, 'ada')
    const clientId = site.publish('/named.json')
    const { data } = await showRequest(browser, ask(clientId))
    expect(data?.view?.client).toEqual({ kind: 'document', name: 'Agent', host: site.host })

    const program = await signInProgram(svc, browser, {
      clientId,
      parameters: { redirect_uri: 'http://localhost:5050/callback' },
    })

    expect((await program.refresh()).status).toBe(200)
    const { data: grants } = await callFromPage(browser, 'oauth.grants')
    expect(grants).toMatchObject([{ name: 'Agent', host: site.host, kind: 'document' }])
  })

  test('is fetched once while it is fresh, between five minutes and a day', async () => {
    const { browser } = await signIn(svc, 'bob')
    const [short, usual, long] = [
      site.publish('/short.json', {}, { 'cache-control': 'max-age=1' }),
      site.publish('/usual.json'),
      site.publish('/long.json', {}, { 'cache-control': 'max-age=99999999' }),
    ]
    const show = async () => {
      for (const clientId of [short, usual, long]) await showRequest(browser, ask(clientId))
      return ['/short.json', '/usual.json', '/long.json'].map(site.countFetches)
    }
    await show()
    expect(await show()).toEqual([1, 1, 1])
    advanceClock(6 * 60_000)
    expect(await show()).toEqual([2, 1, 1])
    advanceClock(60 * 60_000)
    expect((await show()).slice(1)).toEqual([2, 1])
  })

  test('with new addresses is reported to those who allowed it, until they consent again', async () => {
    const [{ browser }, { browser: other }] = [await signIn(svc, newName()), await signIn(svc, newName())]
    const clientId = site.publish('/moving.json', { redirect_uris: [BACK, 'https://agent.example/back'] })
    const parameters = { redirect_uri: 'http://localhost:5050/callback' }
    const tells = async (of: TestBrowser) => {
      await svc.rows('update oauth_clients set fresh_until = now() where client_id = $1', [clientId])
      return (await showRequest(of, ask(clientId))).data?.view?.['hasNewAddresses']
    }
    await signInProgram(svc, browser, { clientId, parameters })

    site.publish('/moving.json', { redirect_uris: ['https://agent.example/back', BACK] })
    expect(await tells(browser), 'in another order').toBe(false)
    site.publish('/moving.json', { redirect_uris: [BACK, 'https://elsewhere.example/back'] })
    expect([await tells(browser), await tells(other)]).toEqual([true, false])
    expect(await tells(browser), 'still').toBe(true)
    await signInProgram(svc, browser, { clientId, parameters })
    expect(await tells(browser), 'after another consent').toBe(false)
  })

  test('serves for a week from its stored copy when it cannot be fetched', async () => {
    const { browser } = await signIn(svc, 'cleo')
    const clientId = site.publish('/lost.json')
    await signInProgram(svc, browser, { clientId, parameters: { redirect_uri: 'http://localhost:5050/callback' } })
    site.serve('/lost.json', (response) => response.writeHead(503).end())
    const shift = async (days: number) =>
      svc.rows(
        `update oauth_clients set fetched_at = now() - $2::interval, fresh_until = now() - interval '1 second'
                 where client_id = $1`,
        [clientId, `${days} days`],
      )

    await shift(6)
    expect((await showRequest(browser, ask(clientId))).data?.view?.client.name).toBe('Agent')
    await shift(8)
    expect((await showRequest(browser, ask(clientId))).problem).toBe('authorization_invalid')
  })

  test('serves no longer once its host has withdrawn or broken it', async () => {
    const { browser } = await signIn(svc, 'fay')
    const withdrawn = [
      ['/gone.json', (response: Http2ServerResponse) => response.writeHead(410).end()],
      ['/missing-now.json', (response: Http2ServerResponse) => response.writeHead(404).end()],
      ['/html-now.json', (response: Http2ServerResponse) => response.writeHead(200).end('<html>')],
      [
        '/long-now.json',
        (response: Http2ServerResponse) =>
          response.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(6000)),
      ],
    ] as const

    for (const [path, answer] of withdrawn) {
      const clientId = site.publish(path)
      await signInOnce(browser, clientId)
      site.serve(path, answer)
      expect([path, (await showRequest(browser, ask(clientId))).problem]).toEqual([path, 'authorization_invalid'])
    }
    const busy = site.publish('/busy.json')
    await signInOnce(browser, busy)
    site.serve('/busy.json', (response) => response.writeHead(429).end())
    expect((await showRequest(browser, ask(busy))).data?.view?.client.name).toBe('Agent')
  })

  test('no longer works, nor do its tokens, once the settings omit its host', async () => {
    const { browser } = await signIn(svc, 'gus')
    const clientId = site.publish('/narrowed.json')
    const program = await signInProgram(svc, browser, { clientId, parameters: { redirect_uri: LOCAL } })
    await using other = await restart({ OAUTH_CLIENT_HOSTS: 'elsewhere.example' })
    const later = visitAs(browser, other)

    expect((await showRequest(later, ask(clientId))).problem).toBe('authorization_invalid')
    expect((await program.refresh(undefined, other)).body['error']).toBe('invalid_client')
    expect(await tryToken(other, program.tokens.access_token, '/mcp')).toBe(401)
    expect(await tryToken(svc, program.tokens.access_token, '/mcp')).not.toBe(401)
    expect((await program.refresh()).status).toBe(200)
  })

  test('and ids of registrations lead only to addresses that are allowed now', async () => {
    const HOUSE = 'house://back'
    const open = { OAUTH_CLIENTS: 'any', OAUTH_CLIENT_HOSTS: site.host }
    await using before = await restart({ ...open, OAUTH_REDIRECTS: HOUSE })
    await using after = await restart(open)
    const document = site.publish('/house.json', { redirect_uris: [BACK, HOUSE] })
    const dynamic = await registerProgram(before, [BACK, HOUSE])
    const registered = await before.host.oauth.registerClient({ name: 'House', redirectUris: [BACK, HOUSE] })
    const { browser } = await signIn(svc, 'hedy')
    const [early, later] = [visitAs(browser, before), visitAs(browser, after)]

    for (const clientId of [document, dynamic, registered.clientId]) {
      await signInProgram(before, early, { clientId, parameters: { redirect_uri: HOUSE } })
      expect((await showRequest(later, ask(clientId, HOUSE))).problem).toBe('authorization_invalid')
      expect((await showRequest(later, ask(clientId))).problem).toBeUndefined()
    }
  })

  test('is refused if it is long, slow, moved, of another address or no document', async () => {
    const { browser } = await signIn(svc, 'dora')
    const json = { 'content-type': 'application/json' }
    const refused = [
      site.publish('/other.json', { client_id: `https://${site.host}/else.json` }),
      site.publish('/secret.json', { token_endpoint_auth_method: 'private_key_jwt' }),
      site.publish('/nowhere.json', { redirect_uris: ['http://site.example/'] }),
      site.publish('/long-text.json', { padding: 'x'.repeat(6000) }),
      site.publish('/html.json', {}, { 'content-type': 'text/html' }),
      site.serve('/moved.json', (response) => response.writeHead(302, { location: '/named.json' }).end()),
      site.serve('/broken.json', (response) => response.writeHead(200, json).end('{"client_id"')),
      `https://${site.host}/missing.json`,
      `https://${site.host}/`,
      `https://${site.host}/a/../named.json`,
      `https://user@${site.host}/named.json`,
      `https://${site.host}/named.json#x`,
      `https://localhost:1/named.json`,
      `http://${site.host}/named.json`,
      `https://${site.host}/${'x'.repeat(255)}`,
    ]

    for (const clientId of refused)
      expect([clientId, (await showRequest(browser, ask(clientId))).problem]).toEqual([
        clientId,
        'authorization_invalid',
      ])
  })

  test('is never fetched from private addresses where all public hosts are allowed', async () => {
    await using open = await startOAuth({ OAUTH_CLIENTS: 'documents' })
    const { browser } = await signIn(open, 'ada')
    const clientId = site.publish('/private.json')

    const refused = [
      [clientId, 'not a web port'],
      ['https://127.0.0.1/client.json', 'not a foreign host'],
      ['https://127.0.0.2/client.json', 'not a public address'],
      ['https://[::1]/client.json', 'not a public address'],
      ['https://10.0.0.1/c.json', 'not a public address'],
    ] as const

    for (const [address, reason] of refused) {
      open.log.length = 0
      expect((await showRequest(browser, ask(address))).problem).toBe('authorization_invalid')
      expect([address, open.log.some((line) => line.includes(`"reason":"${reason}"`))]).toEqual([address, true])
    }
    expect(site.countFetches('/private.json')).toBe(0)
  })

  test('is not fetched from a private address, nor waited for without end', async () => {
    const address = site.serve('/silent.json', () => {})
    const names: Record<string, string[]> = { 'inner.test': ['10.0.0.1'], 'mixed.test': ['93.184.216.34', '127.0.0.1'] }
    const resolve = async (name: string) => names[name] ?? []
    const options = { userAgent: 'test', ownHost: 'own.test', timeout: 300, resolve }
    await using documents = Object.assign(createClientDocuments({ ...options, hosts: ['*', site.host] }), {
      [Symbol.asyncDispose]: () => documents.close(),
    })
    const fetchFrom = (url: string) => documents.fetch(url, new AbortController().signal)

    for (const name of Object.keys(names))
      await expect(fetchFrom(`https://${name}/c.json`)).rejects.toMatchObject({
        name: 'OutboundError',
        message: 'not a public address',
      })
    await expect(fetchFrom('https://own.test/c.json')).rejects.toThrow('not a foreign host')
    await expect(fetchFrom('https://unknown.test/c.json')).rejects.toThrow(HostOutage)
    await expect(fetchFrom(address)).rejects.toThrow(HostOutage)
  })

  test('is of no use to a program whose document an administrator has blocked', async () => {
    const { browser } = await signIn(svc, 'emil')
    const clientId = site.publish('/blocked.json', { client_name: 'Unwanted' })
    await signInProgram(svc, browser, { clientId, parameters: { redirect_uri: 'http://localhost:5050/callback' } })
    const { clients } = await svc.host.oauth.clients({ search: 'unwanted' })
    await svc.host.oauth.block({ id: clients[0]?.id ?? 0, blocked: true })

    expect((await showRequest(browser, ask(clientId))).problem).toBe('authorization_invalid')
    expect(site.countFetches('/blocked.json')).toBe(1)
  })
})
