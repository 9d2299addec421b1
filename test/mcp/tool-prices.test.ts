import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { ClosableToolUses } from '../../server/stores/usage/tool-uses.ts'
import { buildQuestion, callsTool, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestUser } from '../kit/app.ts'
import { runCommand } from '../kit/command-line.ts'
import { createApiClient } from '../kit/json-api/client.ts'
import { callTool } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { createAiRoom, requestRoomAnswer, waitForAnswer } from '../kit/rooms/ai.ts'
import { shareResource } from '../kit/share-resource.ts'

/** `ada` is of the staff, `bob` is not. */
let ada: TestUser
let bob: TestUser
let root: TestUser

const desk = shareResource(() => startToolServer([buildTool('find'), buildTool('send')]))
const upstream = shareResource(startProvider)
const config = shareResource(() => {
  const mcpServers = [{ label: 'Desk', url: desk.url, pricePerCall: '0.01 EUR' }]
  const pricing = { currency: 'EUR', inputPerMillion: 0, outputPerMillion: 0 }
  return writeConfig(upstream.url, { model: { pricing, tools: ['desk_find'] }, more: { mcpServers } })
})
const svc = shareResource(() =>
  startApp({
    AI_CONFIG: config.file,
    ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true',
    MCP_CALLS_AT_ONCE: '100',
    MCP_CALLS_PER_MINUTE: '10000',
  }),
)
beforeAll(async () => {
  ada = await svc.user({ abilities: ['ai', 'mcp', 'read'] })
  bob = await svc.user({ abilities: ['ai', 'mcp', 'read'] })
  root = await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
  await svc.host.admin.setGroups({ user: { id: ada.id }, groups: ['staff'] })
  await svc.host.mcp.sync()
  for (const { name, hash } of await svc.host.mcp.tools()) await svc.host.mcp.approve({ name, hash })
})
beforeEach(async () => {
  for (const name of new Set((await svc.host.limits.list()).map((limit) => limit.name)))
    await svc.host.limits.remove({ name })
  await setPrice('0.01 EUR')
  await flush()
  await svc.rows('delete from tool_uses')
  await svc.rows('delete from usage_records')
  desk.behave = undefined
  desk.seen.length = 0
})

/** Waits until all ended calls are recorded. */
async function flush() {
  await (svc.services.ai.toolUses as ClosableToolUses).flush()
  await svc.services.ai.usageLedger.flush()
}

async function findServer(): Promise<string> {
  const [server] = await svc.host.mcp.servers()
  return String(server?.id)
}

const setPrice = async (pricePerCall: string | null) =>
  svc.host.mcpServers.update({ id: await findServer(), pricePerCall })

const setLimit = (more: object) =>
  svc.host.limits.set({ name: 'few', unit: 'EUR', per: 'month', cap: 0.025, countFrom: 'now', ...more } as never)

const find = async ({ token }: TestUser, tool = 'desk_find') => {
  const { result } = await callTool(svc, tool, { token, input: { text: 'Ovid' } })
  return result.isError === true ? (result.content[0].text as string) : 'done'
}

const ask = ({ token }: TestUser) => {
  upstream.behave = callsTool('desk_find', '{"text":"Ovid"}')
  return svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })
}

const countCalls = () => desk.seen.filter(({ method }) => method === 'tools/call').length

const readUsed = async (name = 'few') =>
  (await svc.host.limits.show({ name })).map(({ subjectId, used, held, refused }) => ({
    subjectId,
    used,
    held,
    refused,
  }))

function command(...args: string[]) {
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  return runCommand(args, { env: { DATABASE_URL, DATA_DIR, DATABASE_POOL: '2' } })
}

const refusal = expect.stringMatching(
  /^The limit 'few' has no room for 0\.01 EUR more: 0\.02 EUR used and 0 EUR held by calls under way, of 0\.025 EUR a month\. It frees at /,
)

test.each(['user', 'token', 'group:staff', 'role:user', 'installation'])(
  'a limit in money for %s refuses tool calls that exceed it',
  async (target) => {
    await setLimit({ for: target })
    expect([await find(ada), await find(ada, 'desk_send'), await find(ada)]).toEqual(['done', 'done', refusal])
    const isForAll = target === 'role:user' || target === 'installation'
    expect(await find(bob)).toEqual(isForAll ? refusal : 'done')
    expect(await readUsed()).toContainEqual(
      expect.objectContaining({ used: 20_000, held: 0, refused: isForAll ? 2 : 1 }),
    )
  },
)

test('exactly those of forty calls are made that a limit in money allows', async () => {
  await setLimit({ for: 'user', cap: 0.1 })
  await setLimit({ for: 'tool:desk_find', name: 'calls', unit: 'calls', cap: 15 })
  const results = await Promise.all(Array.from({ length: 40 }, (_, at) => find(at % 2 ? ada : bob)))
  const done = (offset: number) => results.filter((result, at) => at % 2 === offset && result === 'done').length
  expect([done(0) + done(1), countCalls()]).toEqual([15, 15])
  expect(Math.max(done(0), done(1))).toBeLessThanOrEqual(10)
  const used = await readUsed()
  expect(used).toContainEqual(expect.objectContaining({ subjectId: `${ada.id}`, used: done(1) * 10_000 }))
  expect(used).toContainEqual(expect.objectContaining({ subjectId: `${bob.id}`, used: done(0) * 10_000 }))
})

test('chats, rooms and programs share one limit, beside one of the room', async () => {
  const { admin, id: room } = await createAiRoom({ svc }, ['editor'])
  await setLimit({ for: 'installation', cap: 0.04 })
  await setLimit({ for: 'room', name: 'rooms', cap: 0.015 })
  for (const _ of [1, 2]) {
    upstream.behave = callsTool('desk_find', '{"text":"Ovid"}')
    await requestRoomAnswer(admin, room, 'Who?')
    await waitForAnswer(admin, room)
  }
  expect(JSON.stringify(upstream.requests.at(-1)?.body)).toContain("The limit 'rooms' has no room for 0.01 EUR more")
  expect((await ask(ada)).status).toBe(200)
  expect([await find(bob), await find(ada), countCalls()]).toEqual(['done', 'done', 4])
  await ask(ada)
  expect(JSON.stringify(upstream.requests.at(-1)?.body)).toContain("The limit 'few' has no room for 0.01 EUR more")
  expect(countCalls()).toBe(4)
  await flush()
  const [record] = await svc.rows(
    `select context, room_id::text as room from usage_records where kind = 'tool' and room_id is not null`,
  )
  expect(record).toEqual({ context: 'group', room: `${room}` })
})

test('a call that was made costs, whatever came of it, and no other does', async () => {
  desk.behave = ({ rpc, reply }) => {
    if (rpc.method === 'tools/call') reply({ content: [{ type: 'text', text: 'no' }], isError: true })
    return rpc.method === 'tools/call'
  }
  await find(ada)
  await callTool(svc, 'desk_find', { token: ada.token, input: { text: 7 } })
  await setLimit({ for: 'user', cap: 0 })
  expect(await find(ada)).toBe("The limit 'few' lets no call through: it is 0 EUR a month.")
  await svc.host.limits.remove({ name: 'few' })
  await setPrice(null)
  await find(ada)
  await flush()
  expect(await svc.rows('select outcome, cost_micros::int as cost, currency from tool_uses order by id')).toEqual([
    { outcome: 'failed', cost: 10_000, currency: 'EUR' },
    { outcome: 'invalid', cost: null, currency: null },
    { outcome: 'limited', cost: null, currency: null },
    { outcome: 'failed', cost: null, currency: null },
  ])
  expect(await svc.rows('select kind, outcome from usage_records')).toEqual([{ kind: 'tool', outcome: 'failed' }])
})

test('costs of tools stand in reports, bills and the own usage of their person', async () => {
  await find(ada)
  await find(ada, 'desk_send')
  await find(bob)
  await flush()
  const month = new Date().toISOString().slice(0, 7)
  const bill = async (by: 'user' | 'model' | 'provider') =>
    (await svc.host.usage.bill({ month, by })).rows.map(({ name, requests, costMicros, currency }) => [
      name,
      requests,
      costMicros,
      currency,
    ])
  expect(await bill('user')).toEqual([
    [ada.username, 2, 20_000, 'EUR'],
    [bob.username, 1, 10_000, 'EUR'],
  ])
  expect(await bill('provider')).toEqual([['Desk', 3, 30_000, 'EUR']])
  expect(await bill('model')).toEqual([
    ['desk_find', 2, 20_000, 'EUR'],
    ['desk_send', 1, 10_000, 'EUR'],
  ])
  const own = async (token?: string) => {
    const response = await svc.send('GET', '/trpc/usage.summary', { token })
    const { result } = (await response.json()) as { result?: { data: Record<string, unknown>[] } }
    return result?.data.map(({ model, context, costMicros }) => [model, context, costMicros])
  }
  expect(await own(bob.token)).toEqual([['desk_find', 'api', 10_000]])
  expect(await own()).toBeUndefined()
  expect(await svc.host.usage.tools()).toMatchObject([
    { tool: 'desk_find', calls: 2, costMicros: 20_000, currency: 'EUR' },
    { tool: 'desk_send', calls: 1, costMicros: 10_000, currency: 'EUR' },
  ])
})

test('a limit begins with recorded costs, and counts tools as no requests', async () => {
  await find(ada)
  await find(ada)
  await flush()
  expect(await setLimit({ for: 'user', countFrom: 'period' })).toMatchObject({ begun: { subjects: 1, used: 20_000 } })
  expect(await find(ada)).toEqual(refusal)
  for (const [target, unit] of [
    ['user', 'requests'],
    ['user', 'tokens'],
    ['provider', 'EUR'],
    ['model', 'requests'],
  ])
    expect(await setLimit({ name: `${target} ${unit}`, for: target, unit, cap: 1, countFrom: 'period' })).toMatchObject(
      {
        begun: { subjects: 0, used: 0 },
      },
    )
  expect(await find(bob)).toBe('done')
  await flush()
  await setLimit({ name: 'low', for: 'installation', mode: 'observe', cap: 0.015 })
  const simulated = await command('limits', 'simulate', '--json')
  expect(JSON.parse(simulated.stdout)).toEqual([expect.objectContaining({ limit: 'low', calls: 3, refused: 2 })])
})

test('a limit in another currency refuses, unless it says what such calls count', async () => {
  await setLimit({ for: 'user', unit: 'USD', cap: 1 })
  expect(await find(ada)).toBe("The limit 'few' is in money, and what this tool costs in USD is not known.")
  await setLimit({ for: 'user', unit: 'USD', cap: 1, unpriced: 0.6 })
  expect([await find(ada), await find(ada)]).toEqual(['done', expect.stringContaining('no room for 0.6 USD more')])
})

test('administrators set the price, and nobody else sees it', async () => {
  const id = await findServer()
  const admin = createApiClient(svc, root.token)
  expect((await admin.update('mcp-servers', id, { pricePerCall: '1.5 USD' })).one.attributes).toMatchObject({
    pricePerCall: '1.5 USD',
  })
  for (const pricePerCall of ['1.5', 'EUR', '-1 EUR', '0.0000001 EUR', '1 eur', '1e3 EUR', '12345678 EUR', 1, ''])
    expect([pricePerCall, (await admin.update('mcp-servers', id, { pricePerCall })).status]).toEqual([
      pricePerCall,
      422,
    ])
  const own = createApiClient(svc, ada.token)
  expect((await own.get(`/mcp-servers/${id}`)).one.attributes).not.toHaveProperty('pricePerCall')
  expect((await own.update('mcp-servers', id, { pricePerCall: null })).status).toBe(403)
  expect((await createApiClient(svc, undefined).update('mcp-servers', id, { pricePerCall: null })).status).toBe(401)

  const set = (price: string, name = 'Desk') => command('mcp', 'price', name, '--price', price)
  expect((await set('0.25 EUR')).stdout).toBe('A call of a tool of Desk costs 0.25 EUR.\n')
  expect(await svc.host.mcp.servers()).toMatchObject([{ pricePerCall: '0.25 EUR' }])
  expect((await set('free')).stdout).toBe('A call of a tool of Desk costs nothing.\n')
  expect((await set('much')).stderr).toContain('--price must be a price such as 0.005 EUR')
  expect((await set('free', 'Nothing')).stderr).toContain('There is no server Nothing.')
})
