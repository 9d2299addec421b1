import { beforeAll, beforeEach, expect, test } from 'vitest'
import { callsTool, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestUser } from '../kit/app.ts'
import { addCaller, callTool } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { createAiRoom, requestRoomAnswer, waitForAnswer } from '../kit/rooms/ai.ts'
import { shareResource } from '../kit/share-resource.ts'

let ada: TestUser

const desk = shareResource(() => startToolServer([buildTool('find')]))
const upstream = shareResource(startProvider)
const config = shareResource(() => {
  const mcpServers = [{ label: 'Desk', url: desk.url }]
  return writeConfig(upstream.url, { model: { tools: ['desk_find'] }, more: { mcpServers } })
})
const svc = shareResource(() => startApp({ AI_CONFIG: config.file, ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true' }))
beforeAll(async () => {
  ada = await addCaller(svc)
  await svc.host.mcp.sync()
  for (const { name, hash } of await svc.host.mcp.tools()) await svc.host.mcp.approve({ name, hash })
})
beforeEach(async () => {
  desk.behave = undefined
  desk.seen.length = 0
  await setToolGroups([])
  await svc.rows('delete from tool_uses')
})

async function setToolGroups(groups: string[]) {
  const [tool] = await svc.host.mcp.tools()
  await svc.host.aiTools.update({ id: String(tool?.id), groups })
}

function answerWith(result: object) {
  desk.behave = ({ rpc, reply }) => {
    if (rpc.method === 'tools/call') reply(result)
    return rpc.method === 'tools/call'
  }
}

const find = (text = 'Ovid') => callTool(svc, 'desk_find', { token: ada.token, input: { text } })
const readUses = () => svc.rows('select user_id as person, tool, surface, outcome from tool_uses order by id')

test('programs get pictures, links and structured content as they came, without what is hidden', async () => {
  const content = [
    { type: 'text', text: 'Found.\r\n\tOvid', annotations: { audience: ['user'], priority: 1 } },
    { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
    { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'https://desk.example/1', name: 'one', title: 'One', size: 7 },
    { type: 'resource', resource: { uri: 'desk://1', mimeType: 'text/plain', text: 'of it' } },
  ]
  const structuredContent = { found: 1, list: ['Ovid', null, { deep: true }] }
  const hidden = { _meta: { 'desk/secret': 1 }, icons: [{ src: 'https://desk.example/icon.png' }] }
  const sent = content.map((part) => ({
    ...part,
    ...hidden,
    ...(part.text !== undefined && { text: `${part.text}\u{e0041}\u{e0042}` }),
    ...(part.resource && { resource: { ...part.resource, _meta: {} } }),
  }))
  answerWith({ content: sent, structuredContent, ...hidden })
  const { result } = await find()
  expect(result.content).toEqual(content)
  expect(result.structuredContent).toEqual(structuredContent)
  expect(JSON.stringify(result)).not.toContain('desk/secret')
  await expect.poll(readUses).toHaveLength(1)
})

test('a call of a program leaves one record, and nothing of what was said', async () => {
  answerWith({ content: [{ type: 'text', text: 'CANARY-RESULT' }] })
  await find('CANARY-ARGUMENT')
  answerWith({ content: [{ type: 'text', text: 'CANARY-ERROR' }], isError: true })
  await find('CANARY-ARGUMENT')
  await callTool(svc, 'desk_find', { token: ada.token, input: { 'CANARY-NAME': 'CANARY-ARGUMENT' } })
  const use = { person: ada.id, tool: 'desk_find', surface: 'mcp' }
  await expect.poll(readUses).toEqual([
    { ...use, outcome: 'completed' },
    { ...use, outcome: 'failed' },
    { ...use, outcome: 'invalid' },
  ])
  const tables = await svc.rows<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  for (const { name } of tables)
    expect([name, await svc.rows(`select from "${name}" t where t::text like '%CANARY%'`)]).toEqual([name, []])
  expect(svc.log.join('')).not.toContain('CANARY')
})

test("a tool in a room follows the asking person's groups, recorded with the room", async () => {
  const { admin, editor, id: room } = await createAiRoom({ svc }, ['editor'])
  await svc.host.admin.setGroups({ user: { id: admin.id }, groups: ['staff'] })
  await setToolGroups(['staff'])
  upstream.behave = callsTool('desk_find', '{"text":"Ovid"}')
  for (const person of [editor, admin]) {
    expect((await requestRoomAnswer(person, room, 'Who?')).status).toBe(200)
    await waitForAnswer(person, room)
  }
  await expect.poll(readUses).toEqual([{ person: admin.id, tool: 'desk_find', surface: 'room', outcome: 'completed' }])
  expect(desk.seen.filter(({ method }) => method === 'tools/call')).toHaveLength(1)
})
