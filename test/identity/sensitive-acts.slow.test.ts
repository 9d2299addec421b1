import { beforeAll, expect, test } from 'vitest'
import { resources } from '../../routers/index.ts'
import type { Resource } from '../../routers/resource/declare.ts'
import { startApp } from '../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { fillDatabase, portal } from '../kit/json-api/sample-rows.ts'
import { shareResource } from '../kit/share-resource.ts'

/** The members that need a fresh sign-in, or a token with the ability `admin`. All others are open to `write`. */
const sensitiveMembers: Record<string, string[]> = {
  users: ['role', 'disabled'],
  'ai-providers': ['apiUrl', 'apiKey', 'servers', 'groups'],
  'ai-models': ['groups'],
  'mcp-servers': [
    'url',
    'apiKey',
    'additionalConfig',
    'groups',
    'gateway',
    'offers',
    'account',
    'oauthClientId',
    'oauthClientSecret',
    'oauthScopes',
    'oauthIssuer',
  ],
  'ai-tools': ['groups'],
  'ext-apps': ['publicKey'],
}

/** Values of each member that an administrator may update; an odd and an even number always differ. */
const changes: Record<string, Record<string, (n: number) => unknown>> = {
  users: { role: (n) => roles[n % 2], disabled: (n) => n % 2 === 1 },
  'ai-providers': {
    providerId: (n) => `provider-${n}`,
    name: (n) => `Provider ${n}`,
    adapter: (n) => ['openai', 'openai-compatible'][n % 2],
    active: (n) => n % 2 === 0,
    groups: (n) => [`group-${n}`],
    apiUrl: (n) => `https://api.openai.com/v${n}`,
    apiKey: (n) => `key-${n}`,
    servers: (n) => [{ apiUrl: `https://second.example/v${n}`, apiKey: `key-${n}` }],
    modelStatusUrl: (n) => `https://api.openai.com/status/${n}`,
    settings: (n) => ({ timeouts: { connect: 1000 + n } }),
  },
  'ai-models': {
    active: (n) => n % 2 === 0,
    modelId: (n) => `model-${n}`,
    upstreamId: (n) => `upstream-${n}`,
    modelType: (n) => `kind-${n}`,
    label: (n) => `Model ${n}`,
    input: (n) => ['text', ...(n % 2 === 0 ? ['image'] : [])],
    output: (n) => ['text', ...(n % 2 === 0 ? ['image'] : [])],
    parameters: (n) => ({ seed: n }),
    nativeCapabilities: (n) => [`capability-${n}`],
    settings: (n) => ({ toolCalling: n % 2 === 0 }),
    limits: (n) => ({ maxInputTokens: 1000 + n }),
    pricing: (n) => (n % 2 === 0 ? { free: true } : null),
    flags: (n) => [`flag-${n}`],
    documentationUrl: (n) => `https://docs.example/${n}`,
    deprecationDate: (n) => new Date(Date.UTC(2040, 0, 1 + n)).toISOString(),
    successor: () => null,
    redirect: () => false,
    position: (n) => 1000 + n,
    fallback: () => [],
    groups: (n) => [`group-${n}`],
    usageTypes: (n) => ['main', ...(n % 2 === 0 ? ['external'] : [])],
  },
  'ai-model-descriptions': {
    locale: (n) => ['en_US', 'de_DE'][n % 2],
    description: (n) => `Text ${n}`,
  },
  'mcp-servers': {
    serverLabel: (n) => `Server ${n}`,
    description: (n) => `Text ${n}`,
    requireApproval: (n) => ['never', 'always'][n % 2],
    groups: (n) => [`group-${n}`],
    gateway: (n) => n % 2 === 0,
    offers: (n) => [['prompts'], ['resources']][n % 2],
    transport: (n) => ['http', 'sse'][n % 2],
    url: (n) => `https://tools.example/${n}`,
    timeouts: (n) => ({ connect: 1000 + n }),
    apiKey: (n) => `key-${n}`,
    additionalConfig: (n) => ({ headers: { 'x-key': `key-${n}` } }),
    account: (n) => ['shared', 'none'][n % 2],
    oauthClientId: (n) => `client-${n}`,
    oauthClientSecret: (n) => `secret-${n}`,
    oauthScopes: (n) => [`scope-${n}`],
    oauthIssuer: (n) => `https://tools.example/sign-in/${n}`,
    pricePerCall: (n) => `0.00${n + 1} EUR`,
  },
  'ai-tools': { active: () => false, groups: (n) => [`group-${n}`], mappedCapabilityKey: (n) => `capability-${n}` },
  'system-models': {
    modelType: (n) => `task-${n}`,
    usageType: (n) => ['main', 'external'][n % 2],
  },
  'system-prompts': {
    promptType: (n) => `type-${n}`,
    usageType: (n) => ['main', 'external'][n % 2],
    locale: (n) => ['en_US', 'de_DE'][n % 2],
    prompt: (n) => `Text ${n}`,
  },
  'ext-apps': {
    name: (n) => `App ${n}`,
    description: (n) => `Text ${n}`,
    url: (n) => `https://portal.example/${n}`,
    redirectUrls: (n) => [`https://portal.example/back/${n}`],
    logoUrl: (n) => `https://portal.example/logo/${n}.png`,
    publicKey: () => null,
    abilities: (n) => ['ai', ...(n % 2 === 0 ? ['read'] : [])],
    needsKeys: (n) => n % 2 === 0,
    linkDays: (n) => 1 + (n % 300),
    active: (n) => n % 2 === 0,
  },
}
const roles = ['user', 'admin']

/** Members of `users` that people change for themselves, and no administrator for others. */
const ownMembers = ['displayName', 'bio', 'avatar']

/** The smallest new row of each type, which sets nothing that is sensitive. */
const newRows: Record<string, (n: number) => object> = {
  'ai-providers': (n) => ({ providerId: `new-${n}`, name: 'New', adapter: 'openai' }),
  'ai-models': (n) => ({ modelId: `new-${n}`, label: 'New', provider: '1' }),
  'system-prompts': (n) => ({ promptType: `new-${n}`, locale: 'en_US', prompt: 'Be kind.' }),
}

const callerNames = ['old session', 'token', 'fresh session', 'token with admin'] as const
type CallerName = (typeof callerNames)[number]
type Callers = Record<CallerName, TestBrowser['send']>

const OPEN = Object.fromEntries(callerNames.map((name) => [name, 'ok']))
const GUARDED = { ...OPEN, 'old session': 'fresh_login_needed', token: 'missing_ability' }

let callers: Callers
let other: number
/** The number of the values that rows have now, always even after `askAll`. */
let valueNumber = 0
let rowCount = 0
const svc = shareResource(startApp)
beforeAll(async () => {
  await fillDatabase(svc)
  // The address tells for all adapters to which server the key goes.
  await svc.rows(`update ai_providers set api_url = 'https://api.openai.com/v0'`)
  const { id, browser: old } = await signIn(svc, 'root')
  await svc.host.admin.setRole({ user: { id }, role: 'admin' })
  await old.login('root')
  await svc.rows(`update sessions set signed_in_at = now() - interval '3 hours'`)
  const fresh = openBrowser(svc.url)
  await fresh.login('root')
  const addToken = async (abilities: ('read' | 'write' | 'admin')[]) => {
    const { token } = await svc.host.tokens.createFor({ user: { id }, name: 'script', abilities })
    const send: TestBrowser['send'] = (method, path, request) =>
      openBrowser(svc.url).send(method, path, {
        ...request,
        headers: { ...request?.headers, authorization: `Bearer ${token}` },
      })
    return send
  }
  callers = {
    'old session': old.send,
    token: await addToken(['read', 'write']),
    'fresh session': fresh.send,
    'token with admin': await addToken(['read', 'write', 'admin']),
  }
  other = (await svc.user({ username: 'other' })).id
})

/**
 * Makes a call as each caller in turn, and returns what came of it: `ok`, or the code of the refusal. The last one sets
 * another value than the others, because an unchanged one needs no permission.
 */
async function callTogether(call: (send: TestBrowser['send'], n: number) => Promise<string>) {
  const outcomes: [CallerName, string][] = []
  const [first, last] = [++valueNumber, ++valueNumber]
  for (const name of callerNames) {
    const isLast = name === callerNames.at(-1)
    outcomes.push([name, await call(callers[name], isLast ? last : first)])
  }
  return Object.fromEntries(outcomes)
}

async function callProcedure(send: TestBrowser['send'], name: string, input: object): Promise<string> {
  const { body } = await send('POST', `/trpc/${name}`, { body: input })
  const { error } = body as { error?: { message: string; data: { problem?: string } } }
  return error ? (error.data.problem ?? error.message) : 'ok'
}

async function patchResource(send: TestBrowser['send'], type: string, id: string, attributes: object) {
  const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/vnd.api+json' }
  const body = { data: { type, id, attributes } }
  const answer = await send('PATCH', `/api/svc/v1/${type}/${id}`, { headers, body: JSON.stringify(body) })
  const errors = answer.text.startsWith('{') ? (JSON.parse(answer.text).errors as { code: string }[] | undefined) : []
  return errors?.[0]?.code ?? 'ok'
}

const toRouterName = (type: string) => type.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

const findId = async ({ type }: Resource) =>
  type === 'users'
    ? String(other)
    : String((await svc.rows<{ id: number }>(`select min(id) as id from ${type.replaceAll('-', '_')}`))[0]?.id)

const administered = resources.filter(({ type }) => Object.hasOwn(changes, type))
const listMembers = ({ type, attributes }: Resource) =>
  Object.keys(attributes).filter((name) => {
    const { write } = attributes[name] ?? {}
    return (write === true || write === 'update') && !(type === 'users' && ownMembers.includes(name))
  })
const rows = administered.flatMap((of) => listMembers(of).map((member) => ({ of, member })))
const describeRow = ({ of: { type }, member }: (typeof rows)[number]) => `${type}.${member}`

test('every member that an administrator updates has a sample here', () => {
  expect(rows.map(describeRow)).toEqual(
    administered.flatMap(({ type }) => Object.keys(changes[type] ?? {}).map((member) => `${type}.${member}`)),
  )
  expect(
    rows
      .filter(({ of, member }) => of.attributes[member]?.sensitive)
      .map(describeRow)
      .sort(),
  ).toEqual(
    Object.entries(sensitiveMembers)
      .flatMap(([type, names]) => names.map((name) => `${type}.${name}`))
      .sort(),
  )
})

test('each update of an administrator asks for what its member needs', async () => {
  for (const { of, member } of rows) {
    const id = await findId(of)
    const isSensitive = sensitiveMembers[of.type]?.includes(member)
    const outcomes = await callTogether((send, n) =>
      callProcedure(send, `${toRouterName(of.type)}.update`, { id, [member]: changes[of.type]?.[member]?.(n) }),
    )
    expect([of.type, member, outcomes]).toEqual([of.type, member, isSensitive ? GUARDED : OPEN])
  }
})

test('JSON:API asks for the same as tRPC', async () => {
  for (const { of, member } of rows) {
    const id = await findId(of)
    if (!sensitiveMembers[of.type]?.includes(member)) continue
    const outcomes = await callTogether((send, n) =>
      patchResource(send, of.type, id, { [member]: changes[of.type]?.[member]?.(n) }),
    )
    expect([of.type, member, outcomes]).toEqual([of.type, member, GUARDED])
  }
})

test('a new row is open to write, unless it sets what is sensitive', async () => {
  for (const [type, createRow] of Object.entries(newRows)) {
    const create = `${toRouterName(type)}.create`
    expect([type, await callTogether((send) => callProcedure(send, create, createRow(++rowCount)))]).toEqual([
      type,
      OPEN,
    ])
    for (const member of sensitiveMembers[type] ?? []) {
      const outcomes = await callTogether((send, n) =>
        callProcedure(send, create, { ...createRow(++rowCount), [member]: changes[type]?.[member]?.(n) }),
      )
      expect([type, member, outcomes]).toEqual([type, member, GUARDED])
    }
  }
  const server = (n: number) => ({ serverLabel: 'New', url: `https://new.example/${n}` })
  expect(await callTogether((send) => callProcedure(send, 'mcpServers.create', server(++rowCount)))).toEqual(GUARDED)
  const app = (n: number) => ({ ...portal, name: `New ${n}` })
  expect(await callTogether((send) => callProcedure(send, 'extApps.create', app(++rowCount)))).toEqual(GUARDED)
})

test('nobody opens a model of some groups by another row of the same model', async () => {
  const provider = await findId({ type: 'ai-providers' } as Resource)
  const addGuarded = async () => {
    const upstreamId = `guarded-${++rowCount}`
    const row = { modelId: `row-${rowCount}`, label: 'Guarded', provider, upstreamId, groups: ['physics'] }
    expect(await callProcedure(callers['fresh session'], 'aiModels.create', row)).toBe('ok')
    return upstreamId
  }
  const create = await addGuarded()
  expect(
    await callTogether((send) =>
      callProcedure(send, 'aiModels.create', {
        ...{ modelId: `row-${++rowCount}`, label: 'Open', provider },
        ...(rowCount % 2 === 0 ? { upstreamId: create } : { upstreamId: create, groups: [] }),
      }),
    ),
  ).toEqual(GUARDED)

  const [upstreamId, row] = [await addGuarded(), { modelId: `row-${++rowCount}`, label: 'Other', provider }]
  expect(await callProcedure(callers.token, 'aiModels.create', row)).toBe('ok')
  const [{ id } = { id: 0 }] = await svc.rows<{ id: number }>('select id from ai_models where model_id = $1', [
    row.modelId,
  ])
  const names = [upstreamId, `free-${rowCount}`]
  expect(await callProcedure(callers.token, 'aiModels.update', { id: String(id), upstreamId: names[0] })).toBe(
    'missing_ability',
  )
  expect(await callProcedure(callers.token, 'aiModels.update', { id: String(id), upstreamId: names[1] })).toBe('ok')
})

test('removing people and rotating credentials needs a fresh session or the ability admin', async () => {
  const [app] = await svc.rows<{ id: number }>('select min(id) as id from ext_apps')
  const rotate = (send: TestBrowser['send']) => callProcedure(send, 'extApps.rotateCredential', { id: String(app?.id) })
  expect(await callTogether(rotate)).toEqual(GUARDED)

  const removeSomebody = async (send: TestBrowser['send']) => {
    const { id } = await svc.user({ username: `leaver${++rowCount}` })
    return callProcedure(send, 'users.delete', { id: String(id) })
  }
  expect(await callTogether(removeSomebody)).toEqual(GUARDED)
})

test('a row that is sent back as it was read needs no fresh sign-in', async () => {
  const { body } = await callers['fresh session']('GET', '/trpc/aiProviders.get?input=%7B%22id%22%3A%221%22%7D')
  const { data: provider } = (body as { result: { data: Record<string, unknown> } }).result
  const { id, name, apiUrl, apiKey, servers, groups } = provider
  expect(apiKey).toBe('********')

  const sent = { id, name, apiUrl, apiKey, servers, groups }
  expect(await callProcedure(callers['old session'], 'aiProviders.update', sent)).toBe('ok')
})

test('the refusal says which ability is missing, and who gives it', async () => {
  const { body } = await callers.token('POST', '/trpc/users.update', { body: { id: String(other), role: 'admin' } })

  expect((body as { error: { message: string } }).error.message).toBe(
    "The access token lacks the ability 'admin', which only `svc token --abilities admin` on the host gives.",
  )
})

test('no page, app or default gives a token the ability admin', async () => {
  const person = openBrowser(svc.url)
  await person.login('root')
  const create = async (input: object) => (await person.send('POST', '/trpc/tokens.create', { body: input })).body
  expect(await create({ name: 'mine', abilities: ['admin'] })).toMatchObject({
    error: { data: { issues: [{ path: ['abilities'] }] } },
  })
  expect(await create({ name: 'mine' })).toMatchObject({ result: { data: { abilities: ['ai', 'user', 'read'] } } })

  const greedy = { ...portal, name: 'Greedy', abilities: ['admin'] }
  expect(await callProcedure(callers['fresh session'], 'extApps.create', greedy)).toBe('The input is not valid.')
})
