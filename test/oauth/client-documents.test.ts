import type { Http2ServerResponse } from 'node:http2'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { signIn } from '../kit/browser.ts'
import { advanceClock } from '../kit/clock.ts'
import { startTlsServer, trustAuthority } from '../kit/net/tls-server.ts'
import { buildQuery, callFromPage, makeVerifier, showRequest, signInProgram, startOAuth } from '../kit/oauth/program.ts'
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
const svc = shareResource(() => startOAuth({ OAUTH_CLIENTS: 'documents', OAUTH_CLIENT_HOSTS: site.host }))

afterEach(() => void vi.useRealTimers())

const ask = (clientId: string) =>
  buildQuery({ clientId, verifier: makeVerifier(), parameters: { redirect_uri: 'http://localhost:5050/callback' } })

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

    for (const address of [
      clientId,
      'https://127.0.0.1/client.json',
      'https://[::1]/client.json',
      'https://10.0.0.1/c.json',
    ])
      expect((await showRequest(browser, ask(address))).problem).toBe('authorization_invalid')
    expect(site.countFetches('/private.json')).toBe(0)
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
