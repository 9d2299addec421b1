import { randomBytes } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ClosableToolUses } from '../../server/stores/usage/tool-uses.ts'
import { buildQuestion, callsTool, callsTools, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp, type TestUser } from '../kit/app.ts'
import { runCommand } from '../kit/command-line.ts'
import { callTool } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { createAiRoom, requestRoomAnswer, waitForAnswer } from '../kit/rooms/ai.ts'
import { shareResource } from '../kit/share-resource.ts'

/** `ada` and `eve` are of the staff, `bob` is not. */
let ada: TestUser
let eve: TestUser
let bob: TestUser

const desk = shareResource(() => startToolServer([buildTool('find'), buildTool('send')]))
const upstream = shareResource(startProvider)
const config = shareResource(() => {
  const mcpServers = [{ label: 'Desk', url: desk.url }]
  return writeConfig(upstream.url, { model: { tools: ['desk_find', 'desk_send'] }, more: { mcpServers } })
})
const settings = {
  APP_KEY: randomBytes(32).toString('base64'),
  ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true',
  MCP_CALLS_AT_ONCE: '1000',
  MCP_CALLS_PER_MINUTE: '100000',
}
const svc = shareResource(() => startApp({ ...settings, AI_CONFIG: config.file }))
const replica = shareResource(() =>
  startApp({ ...settings, AI_CONFIG: config.file, DATABASE_URL: svc.env.DATABASE_URL as string }),
)
beforeAll(async () => {
  ada = await svc.user({ abilities: ['ai', 'mcp', 'read'] })
  eve = await svc.user({ abilities: ['ai', 'mcp', 'read'] })
  bob = await svc.user({ abilities: ['ai', 'mcp', 'read'] })
  for (const { id } of [ada, eve]) await svc.host.admin.setGroups({ user: { id }, groups: ['staff'] })
  await svc.host.mcp.sync()
  for (const { name, hash } of await svc.host.mcp.tools()) await svc.host.mcp.approve({ name, hash })
})
beforeEach(async () => {
  for (const { name } of await svc.host.limits.list()) await svc.host.limits.remove({ name }).catch(() => undefined)
  await flush()
  await svc.rows('delete from tool_uses')
  desk.seen.length = 0
})

/** Waits until all ended calls are recorded. */
const flush = () =>
  Promise.all([svc, replica].map(({ services }) => (services.ai.toolUses as ClosableToolUses).flush()))

function commandEnv() {
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  return { DATABASE_URL, DATA_DIR, DATABASE_POOL: '2' }
}

const setLimit = (more: object) =>
  svc.host.limits.set({ name: 'few', unit: 'calls', per: 'month', cap: 2, countFrom: 'now', ...more } as never)

const find = async ({ token }: TestUser, tool = 'desk_find', app: TestApp = svc) => {
  const { result } = await callTool(app, tool, { token, input: { text: 'Ovid' } })
  return result.isError === true ? (result.content[0].text as string) : 'done'
}

const ask = ({ token }: TestUser, app: TestApp = svc) =>
  app.send('POST', '/api/ai-req', { token, body: buildQuestion() })

const listCalls = () => desk.seen.filter(({ method }) => method === 'tools/call')

const readState = async (name = 'few') =>
  (await svc.host.limits.show({ name })).map(({ subjectId, used, held, refused }) => ({
    subjectId,
    used,
    held,
    refused,
  }))

const findServer = async () => {
  const [row] = await svc.rows<{ id: string }>('select id::text as id from mcp_servers order by id limit 1')
  return row?.id ?? ''
}

const readUses = () => svc.rows('select user_id as person, tool, surface, outcome from tool_uses order by id')

const refusal = expect.stringMatching(
  /^The limit 'few' of calls of tools has no room for another one: 2 used of 2 calls a month\. It frees at \d{4}-\d\d-01T00:00:00\.000Z\.$/,
)

describe('a limit refuses the call that exceeds it', () => {
  test('of all people together, for one tool server or one tool', async () => {
    await setLimit({ for: 'tool-server:Desk' })
    expect([await find(ada), await find(bob, 'desk_send'), await find(eve)]).toEqual(['done', 'done', refusal])
    await setLimit({ for: 'tool:desk_send', name: 'few' })
    expect([await find(ada), await find(ada), await find(bob)]).toEqual(['done', 'done', 'done'])
    expect([await find(ada, 'desk_send'), await find(bob, 'desk_send')]).toEqual(['done', 'done'])
    expect(await find(eve, 'desk_send')).toEqual(refusal)
    expect(listCalls()).toHaveLength(7)
    expect(await readState()).toEqual([{ subjectId: 'desk_send', used: 2, held: 0, refused: 1 }])
  })

  test('of each tool, each person and each token, and of nobody else', async () => {
    await setLimit({ for: 'tool' })
    expect([await find(ada), await find(bob), await find(eve)]).toEqual(['done', 'done', refusal])
    expect(await find(eve, 'desk_send')).toBe('done')
    for (const target of ['user', 'token']) {
      await setLimit({ for: target })
      expect([await find(ada), await find(ada), await find(ada)]).toEqual(['done', 'done', refusal])
      expect(await find(bob)).toBe('done')
    }
  })

  test('of a group, whichever of its people calls', async () => {
    await setLimit({ for: 'group:staff' })
    expect([await find(ada), await find(eve), await find(ada), await find(eve)]).toEqual([
      'done',
      'done',
      refusal,
      refusal,
    ])
    expect([await find(bob), await find(bob), await find(bob)]).toEqual(['done', 'done', 'done'])
    await expect.poll(async () => (await readUses()).length).toBe(7)
    expect(await readUses()).toContainEqual({
      person: eve.id,
      tool: 'desk_find',
      surface: 'mcp',
      outcome: 'limited',
    })
  })
})

test('two replicas make exactly those of a hundred calls that fit', async () => {
  await setLimit({ for: 'group:staff', cap: 30 })
  await setLimit({ for: 'tool-server:Desk', name: 'wide', cap: 50 })
  const callers = Array.from({ length: 100 }, (_, at) => ({
    person: [ada, eve, bob][at % 3] ?? bob,
    app: at % 2 ? svc : replica,
  }))
  const results = await Promise.all(callers.map(({ person, app }) => find(person, 'desk_find', app)))
  const done = (of: TestUser[]) =>
    results.filter((result, at) => result === 'done' && of.includes(callers[at]?.person as TestUser)).length
  const ofStaff = done([ada, eve])
  expect([ofStaff + done([bob]), listCalls().length]).toEqual([50, 50])
  expect(ofStaff).toBeLessThanOrEqual(30)
  // A call that one limit refuses takes nothing of the other one.
  expect(await readState()).toMatchObject([{ subjectId: 'staff', used: ofStaff, held: 0 }])
  expect(await readState('wide')).toMatchObject([{ subjectId: await findServer(), used: 50, held: 0 }])
})

test('chat, rooms and programs share one limit, and the model is told', async () => {
  const { admin, id: room } = await createAiRoom({ svc } as never, ['editor'])
  await setLimit({ for: 'tool:desk_find', cap: 50 })
  const calls = Array.from({ length: 10 }, () => ({ name: 'desk_find', input: '{"text":"Ovid"}' }))
  upstream.behave = callsTools(calls)
  const asked = requestRoomAnswer(admin, room, 'Who?')
  const chats = [ada, bob, eve, ada].map((person, at) => ask(person, at % 2 ? svc : replica))
  const programs = Array.from({ length: 50 }, (_, at) => find(at % 2 ? ada : bob, 'desk_find', at % 3 ? svc : replica))
  expect((await asked).status).toBe(200)
  await waitForAnswer(admin, room)
  expect((await Promise.all(chats)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  await Promise.all(programs)
  expect(listCalls()).toHaveLength(50)
  expect(await readState()).toEqual([{ subjectId: 'desk_find', used: 50, held: 0, refused: 50 }])

  upstream.requests.length = 0
  upstream.behave = callsTool('desk_find', '{"text":"Ovid"}')
  expect((await ask(bob)).status).toBe(200)
  expect(JSON.stringify(upstream.requests.at(-1)?.body)).toContain("The limit 'few' of calls of tools has no room")
  await requestRoomAnswer(admin, room, 'Who?')
  await waitForAnswer(admin, room)
  expect(listCalls()).toHaveLength(50)
  await expect
    .poll(readUses)
    .toContainEqual({ person: admin.id, tool: 'desk_find', surface: 'room', outcome: 'limited' })
})

test('a limit counts the recorded calls of its period that were made', async () => {
  await find(ada)
  await find(bob, 'desk_send')
  await callTool(svc, 'desk_find', { token: ada.token, input: { text: 7 } })
  await expect.poll(async () => (await readUses()).length).toBe(3)
  await svc.rows(`update tool_uses set created_at = now() - interval '2 months' where tool = 'desk_send'`)
  const { begun } = await setLimit({ for: 'user', countFrom: 'period' })
  expect(begun).toEqual({ countFrom: 'period', subjects: 1, used: 1 })
  expect([await find(ada), await find(ada)]).toEqual(['done', refusal])
  await svc.host.limits.topUp({ name: 'few', amount: 1, id: `${ada.id}` })
  expect(await find(ada)).toBe('done')
  expect(await find(ada)).toContain('3 used of 3 calls a month')
})

test('extensions and the log hear once that a limit is used up', async () => {
  const events: object[] = []
  const hooks = [svc, replica].map(({ services }) =>
    services.process.hooks.on('usage-limit-reached', (reached) => void events.push(reached)),
  )
  await setLimit({ for: 'tool' })
  for (const app of [svc, replica, svc, replica]) await find(bob, 'desk_send', app)
  for (const stop of hooks) stop()
  const of = { limit: 'few', subject: 'tool', subjectId: 'desk_send', unit: 'calls', used: 2, cap: 2 }
  expect(events).toEqual([expect.objectContaining({ ...of, percent: 100 })])
})

test('an observing limit refuses nothing, and a model asks as before', async () => {
  await setLimit({ for: 'user', mode: 'observe', cap: 1 })
  await setLimit({ for: 'installation', name: 'none', cap: 0 })
  expect(await find(ada)).toBe("The limit 'none' of calls of tools lets no call through: it is 0 calls a month.")
  upstream.behave = callsTool('desk_find', '{"text":"Ovid"}')
  const answer = await ask(ada)
  expect([answer.status, answer.headers.get('ratelimit')]).toEqual([200, null])
  const model = 'mock-1'
  const explained = await runCommand(['models', 'explain', ada.username, model, '--json'], { env: commandEnv() })
  expect(JSON.parse(explained.stdout)).toMatchObject({ browser: { canAsk: true }, token: { canAsk: true } })
  await svc.services.ai.usageLedger.flush()
  const simulated = await runCommand(['limits', 'simulate'], { env: commandEnv() })
  expect(simulated.stdout).toContain('limits that are enforced would have refused 0.')
  expect(simulated.stdout).toContain('Limits of calls of tools are left out.')
  await svc.host.limits.remove({ name: 'none' })
  expect([await find(ada), await find(ada)]).toEqual(['done', 'done'])
  expect(await readState()).toContainEqual({ subjectId: `${ada.id}`, used: 2, held: 0, refused: 1 })
})

test('people see the limits of tools that they may call, and guests none', async () => {
  await setLimit({ for: 'tool' })
  await setLimit({ for: 'tool-server:Desk', name: 'desk' })
  await find(ada)
  const [tool] = (await svc.host.mcp.tools()).filter(({ name }) => name === 'desk_find')
  await svc.host.aiTools.update({ id: String(tool?.id), groups: ['staff'] })
  const seen = async (token?: string) => {
    const response = await svc.send('GET', '/trpc/usage.limits', { token })
    const { result } = (await response.json()) as { result?: { data: Record<string, string | null>[] } }
    return [response.status, result?.data.map(({ name, subjectId, serverLabel }) => [name, serverLabel ?? subjectId])]
  }
  expect([await seen(ada.token), await seen(bob.token), await seen()]).toEqual([
    [
      200,
      [
        ['desk', 'Desk'],
        ['few', 'desk_find'],
      ],
    ],
    [200, [['desk', 'Desk']]],
    [401, undefined],
  ])
  await svc.host.aiTools.update({ id: String(tool?.id), groups: [] })
})

test('the command line sets limits of calls, and says what cannot be', async () => {
  const set = (target: string, unit: string) => {
    const flags = ['--for', target, '--cap', '5', '--unit', unit, '--per', 'day']
    return runCommand(['limits', 'set', 'few', ...flags], { env: commandEnv() })
  }
  expect((await set('tool-server:Desk', 'calls')).stdout).toContain('It counts what is recorded of the running day: 0')
  expect((await set('tool', 'EUR')).stderr).toContain('--unit must be calls, because the limit is for tools')
  expect((await set('model', 'calls')).stderr).toContain('--unit cannot be calls, which are those of tools')
  expect((await set('tool-server:Deks', 'calls')).stderr).toContain(
    "There is no tool server with the label 'Deks'. Did you mean 'Desk'?",
  )
})

test('a limit stays with its tool server when that gets another label', async () => {
  const id = await findServer()
  await setLimit({ for: 'tool-server:Desk' })
  expect(await find(ada)).toBe('done')
  await svc.host.mcpServers.update({ id, serverLabel: 'Office' })
  expect([await find(ada), await find(bob)]).toEqual(['done', refusal])
  expect(await svc.host.limits.show({ name: 'few' })).toMatchObject([
    { target: 'tool-server:Office', subjectId: id, subjectName: 'Office', used: 2 },
  ])
  await flush()
  // The count begins with what was recorded under both labels.
  expect(await setLimit({ for: 'tool-server:Office', name: 'recorded', countFrom: 'period' })).toMatchObject({
    begun: { used: 2 },
  })
  await svc.host.mcpServers.update({ id, serverLabel: 'Desk' })
})

test('of two tool servers with one label a limit names one by its id', async () => {
  const id = await findServer()
  const server = await svc.host.mcpServers.create({ serverLabel: 'Desk', url: 'https://desk.example/mcp' })
  const other = String(server.id)
  await expect(setLimit({ for: 'tool-server:Desk' })).rejects.toThrow(
    `There are 2 tool servers with the label 'Desk'. Name one by its id: tool-server:${id} or tool-server:${other}.`,
  )
  await setLimit({ for: `tool-server:${other}`, cap: 0 })
  expect(await find(ada)).toBe('done')
  await setLimit({ for: `tool-server:${id}`, cap: 0 })
  expect(await find(ada)).toContain('lets no call through')
  expect(await svc.host.limits.show({ name: 'few' })).toMatchObject([{ target: `tool-server:${id}` }])
  await svc.host.mcpServers.delete({ id: other })
})
