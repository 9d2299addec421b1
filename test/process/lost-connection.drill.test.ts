import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { buildRoutes } from '../../facades/json-api/routes.ts'
import { appRouter } from '../../routers/index.ts'
import { buildQuestion } from '../kit/ai/provider.ts'
import { buildFirstKeys } from '../kit/browser.ts'
import { base } from '../kit/json-api/client.ts'
import { type Call, describeCall, readProblem, startBehindRelay } from '../kit/parts/behind-relay.ts'
import { shareResource } from '../kit/share-resource.ts'

let session: Record<string, string>
const app = shareResource(startBehindRelay)
beforeAll(async () => {
  session = await app.session('eve')
})
afterEach(() => {
  app.watch(undefined)
  app.relay.mend()
})

type Headers = Record<string, string>

/** A counter that makes unique values in the calls. */
let counter = 0

/**
 * Cuts the connections to the database at each packet of a call, one after the other, until the call sends no
 * more: before and after each statement, and while a connection is made. Each answer is 503, and the last is as ever.
 */
async function cutEverywhere(makeCall: (n: number) => Call, headersOf: Headers | ((n: number) => Promise<Headers>)) {
  for (let cutAt = 1; cutAt < 100; cutAt++) {
    const call = makeCall(++counter)
    const headers = typeof headersOf === 'function' ? await headersOf(counter) : headersOf
    let pieces = 0
    app.watch(() => {
      if (++pieces === cutAt) app.relay.cut()
      return undefined
    })
    const answer = await app.send(headers, call)
    app.watch(undefined)
    app.relay.mend()
    if (pieces < cutAt) {
      expect(`${describeCall(call)}: ${answer.status} ${answer.text}`).toMatch(/^\S+ \S+: 20[01]/)
      return cutAt - 1
    }
    // A connection lost after the last response of the database does not fail the call.
    if (answer.status >= 300)
      expect([describeCall(call), readProblem(call, answer)]).toEqual([describeCall(call), 'unavailable'])
  }
  throw new Error('the call sends for ever')
}

const document = (type: string, attributes: object, relationships?: object) => ({
  data: { type, attributes, ...(relationships && { relationships }) },
})
const post = (type: string, attributes: object, relationships?: object): Call => ({
  method: 'POST',
  path: `${base}/${type}`,
  body: document(type, attributes, relationships),
})
const patch = (type: string, id: string | number, attributes: object): Call => ({
  method: 'PATCH',
  path: `${base}/${type}/${id}`,
  body: { data: { type, id: String(id), attributes } },
})
const change = (method: string): Call => ({
  method,
  path: `${base}/ai-tools/${app.catalogue.tool.search}/relationships/models`,
  body: { data: [{ type: 'ai-models', id: app.catalogue.model.main }] },
})
const to = (type: string, id: string) => ({ data: { type, id } })
const trpc = (path: string, body: object): Call => ({ method: 'POST', path: `/trpc/${path}`, body })
const even = <T>(n: number, first: T, second: T) => (n % 2 ? first : second)

const byToken: [string, (n: number) => Call][] = [
  ['the creation of a provider', (n) => post('ai-providers', { providerId: `p${n}`, name: 'P', adapter: 'demo' })],
  [
    'the creation of a model',
    (n) =>
      post(
        'ai-models',
        { modelId: `m${n}`, label: 'M' },
        { provider: to('ai-providers', app.catalogue.provider.open) },
      ),
  ],
  ['the change of a provider', (n) => patch('ai-providers', app.catalogue.provider.open, { name: `Name ${n}` })],
  [
    'the change of a model',
    (n) =>
      patch('ai-models', app.catalogue.model.external, {
        label: `Label ${n}`,
        usageTypes: even(n, ['main'], ['main', 'external']),
      }),
  ],
  ['the change of a tool', (n) => patch('ai-tools', app.catalogue.tool.search, { active: even(n, true, false) })],
  ['the change of a tool server', (n) => patch('mcp-servers', app.catalogue.server.up, { serverLabel: `Label ${n}` })],
  ['the change of a role', (n) => patch('users', app.svc.people.ada.id, { role: even(n, 'admin', 'user') })],
  ['the change of oneself', (n) => patch('users', app.svc.people.admin.id, { bio: `Bio ${n}` })],
  ['a removal from a relationship', () => change('DELETE')],
  ['an addition to a relationship', () => change('POST')],
  ['a replacement of a relationship', () => change('PATCH')],
  ['a change over tRPC', (n) => trpc('aiProviders.update', { id: app.catalogue.provider.open, name: `Name ${n}` })],
  ['the summary of usage', () => ({ method: 'GET', path: '/trpc/usage.summary' })],
  ['the older address of oneself', () => ({ method: 'GET', path: '/api/user' })],
]

const bySession: [string, (n: number) => Call][] = [
  ['the creation of a token', (n) => ({ method: 'POST', path: '/req/profile/create-token', body: { name: `t${n}` } })],
  ['the list of tokens', () => ({ method: 'GET', path: '/req/profile/fetch-tokens' })],
  [
    'a change of the passkey backup',
    () => ({ method: 'POST', path: '/trpc/passkey.renewBackup', body: buildFirstKeys().passkeyBackup }),
  ],
  [
    'a change of the keychain',
    (n) => ({
      method: 'POST',
      path: `${base}/user-keychain-values/actions/batch-update`,
      body: { set: [{ key: `key${n}`, keyType: 'room_key', value: buildFirstKeys().keychain[0]?.value }] },
    }),
  ],
]

/** The addresses of resources and of lists of them. */
const reading = buildRoutes(appRouter)
  .filter(({ method, procedure, url }) => method === 'GET' && procedure && !url.includes('/actions/'))
  .map(({ url }) => url)

describe('a call that loses its database connection answers 503, and the service continues:', () => {
  test.for(byToken)('%s', async ([, makeCall]) => {
    expect(await cutEverywhere(makeCall, app.token)).toBeGreaterThan(1)
  })

  test.for(bySession)('%s', async ([, makeCall]) => {
    expect(await cutEverywhere(makeCall, session)).toBeGreaterThan(1)
  })

  test('the first keys of a person', async () => {
    // Each try uses another person, as it may have stored the keys.
    const headers = (n: number) => app.session(`new${n}`, { hasKeys: false })
    const handshake = () => ({ method: 'POST', path: '/handshake', body: buildFirstKeys() })
    expect(await cutEverywhere(handshake, headers)).toBeGreaterThan(1)
  })

  test('a question to a model', async () => {
    const { token } = app.svc.people.ada
    const buildRequest = () => ({ method: 'POST', path: '/api/ai-req', body: buildQuestion('Hello', 'external') })
    await app.send(app.token, patch('ai-models', app.catalogue.model.external, { usageTypes: ['external'] }))
    expect(await cutEverywhere(buildRequest, { authorization: `Bearer ${token}` })).toBeGreaterThan(1)
  })

  test('the addresses that are read', async () => {
    expect(reading.length).toBeGreaterThan(30)
    let cuts = 0
    for (const url of reading) {
      const [, type] = url.split('/')
      const [row] = await app.svc.rows<{ id: string }>(idsOf[type ?? ''] ?? `select '1' as id where false`)
      if (!row && url.includes(':id')) continue
      cuts += await cutEverywhere(() => ({ method: 'GET', path: base + url.replace(':id', row?.id ?? '') }), app.token)
    }
    expect(cuts).toBeGreaterThan(50)
  })
})

/** A row of each type that has some, as an administrator sees it. */
const idsOf: Record<string, string> = {
  'ai-models': 'select min(id)::text as id from ai_models',
  'ai-providers': 'select min(id)::text as id from ai_providers',
  'ai-tools': 'select min(id)::text as id from ai_tools',
  'mcp-servers': 'select min(id)::text as id from mcp_servers',
  'system-prompts': 'select min(id)::text as id from system_prompts',
  users: 'select min(id)::text as id from users',
}
