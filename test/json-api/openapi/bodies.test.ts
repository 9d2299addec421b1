import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp, type TestUser } from '../../kit/app.ts'
import { withAssistants } from '../../kit/json-api/assistants.ts'
import { findBodyErrors, jsonApiOperations, MEDIA, operationOf } from '../../kit/json-api/openapi.ts'
import { fillDatabase, portal, sendJsonApi } from '../../kit/json-api/sample-rows.ts'

let world: Awaited<ReturnType<typeof fillDatabase>> & { svc: TestApp }
beforeAll(async () => {
  const svc = await startApp(withAssistants)
  world = { svc, ...(await fillDatabase(svc)) }
})
afterAll(() => world.svc[Symbol.asyncDispose]())

const creations = jsonApiOperations.filter(
  ({ method, path }) => method === 'POST' && !/actions|relationships/.test(path),
)

test('a described creation body is accepted, and refused without a required member', async () => {
  const { svc, admin, user } = world
  const related = { data: { type: 'ai-models', id: await idOf(svc, admin, 'ai-models') } }
  const provider = { data: { type: 'ai-providers', id: await idOf(svc, admin, 'ai-providers') } }
  const room = { data: { type: 'rooms', id: await idOf(svc, admin, 'rooms') } }
  const bodies: Record<string, { attributes: object; relationships?: object }> = {
    'ai-providers': {
      attributes: {
        providerId: 'px',
        name: 'P',
        adapter: 'openai',
        apiUrl: null,
        servers: [{ apiUrl: 'https://second.example', apiKey: null }],
      },
    },
    'ai-models': { attributes: { modelId: 'mx', label: 'M', flags: ['self-hosted'] }, relationships: { provider } },
    assistants: { attributes: { name: 'Helper', handle: 'helper', model: 'm1' } },
    'assistant-user-prompts': {
      attributes: { text: 'What now?' },
      relationships: { assistant: { data: { type: 'assistants', id: await idOf(svc, admin, 'assistants') } } },
    },
    'ai-model-descriptions': { attributes: { locale: 'de_DE', description: 'D' }, relationships: { model: related } },
    'ext-apps': { attributes: { ...portal, name: 'Another' } },
    'mcp-servers': { attributes: { url: 'https://other.example', serverLabel: 'S', timeouts: { read: 5 } } },
    'room-members': {
      attributes: { role: 'viewer', wrappedKey: 'a2V5', keyEpoch: 0 },
      relationships: {
        room: { data: { type: 'rooms', id: '1' } },
        user: { data: { type: 'users', id: `${user.id}` } },
      },
    },
    'room-messages': { attributes: { content: 'aQ==|dA==|Yw==' }, relationships: { room } },
    rooms: { attributes: { name: 'Chess', roomDescription: null } },
    'system-models': { attributes: { modelType: 'other' }, relationships: { model: related } },
    'system-prompts': { attributes: { promptType: 'other', locale: 'de_DE', prompt: 'P' } },
  }

  expect(creations.map(({ path }) => path.slice(1)).toSorted()).toEqual(Object.keys(bodies).toSorted())
  for (const [type, members] of Object.entries(bodies)) {
    for (const lacking of lacks(type, members)) await expectNeither(svc, admin, type, lacking)
    const body = { data: { type, ...members } }
    expect(findBodyErrors('POST', `/${type}`, body), type).toEqual([])
    expect((await sendJsonApi(svc, admin, 'POST', `/${type}`, body)).status, type).toBe(201)
    await expectNeither(svc, admin, type, { ...members, attributes: { ...members.attributes, unheardOf: 1 } })
  }
})

test('a described update body is accepted, and must name its resource', async () => {
  const { svc, admin } = world
  const id = await idOf(svc, admin, 'ai-models')
  const change = { data: { type: 'ai-models', id, attributes: { label: 'New', limits: { maxInputTokens: 5 } } } }
  const nameless = { data: { type: 'ai-models', attributes: { label: 'New' } } }

  expect(findBodyErrors('PATCH', '/ai-models/{id}', change)).toEqual([])
  expect((await sendJsonApi(svc, admin, 'PATCH', `/ai-models/${id}`, change)).status).toBe(200)
  expect(findBodyErrors('PATCH', '/ai-models/{id}', nameless)).not.toEqual([])
  expect((await sendJsonApi(svc, admin, 'PATCH', `/ai-models/${id}`, nameless)).status).toBe(422)
})

type Members = { attributes: object; relationships?: object }

const idOf = async (svc: TestApp, caller: TestUser, type: string) =>
  ((await sendJsonApi(svc, caller, 'GET', `/${type}`)).body.data as { id: string }[])[0]!.id

/** Returns the members without one required member, for each required one. */
function lacks(type: string, members: Members): Members[] {
  const { schema } = operationOf('POST', `/${type}`).requestBody!.content[MEDIA]!
  const { attributes, relationships } = schema.properties.data.properties
  const without = (of: object, name: string) => Object.fromEntries(Object.entries(of).filter(([it]) => it !== name))
  const found = [
    ...(attributes?.required ?? []).map((name) => ({ ...members, attributes: without(members.attributes, name) })),
    ...(relationships?.required ?? []).map((name) => ({
      ...members,
      relationships: without(members.relationships ?? {}, name),
    })),
  ]
  expect(found.length, type).toBeGreaterThan(0)
  return found
}

async function expectNeither(svc: TestApp, caller: TestUser, type: string, members: Members) {
  const body = { data: { type, ...members } }
  expect(findBodyErrors('POST', `/${type}`, body), JSON.stringify(body)).not.toEqual([])
  expect((await sendJsonApi(svc, caller, 'POST', `/${type}`, body)).status, JSON.stringify(body)).toBe(422)
}
