import { expect } from 'vitest'
import type { TestApp, TestUser } from '../app.ts'
import { appPublicKey } from '../apps/ext-app.ts'
import { addAssistant } from './assistants.ts'
import { createApiClient } from './client.ts'
import { BASE, findResponseErrors, MEDIA } from './openapi.ts'

export interface Answer {
  status: number
  body: { data?: { id: string; type: string; attributes?: object } | { id: string }[] | null; included?: unknown[] }
  etag: string | null
}

/** Returns true for the downloaded file. */
const isText = ({ headers }: Response) => headers.get('content-type') === 'text/plain'

export async function sendJsonApi(
  svc: TestApp,
  { token }: TestUser,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const headers = { accept: MEDIA, ...(body !== undefined && { 'content-type': MEDIA }) }
  const response = await svc.send(method, BASE + path, { token, headers, ...(body !== undefined && { body }) })
  return {
    status: response.status,
    body: (isText(response) ? await response.text() : await response.json()) as Answer['body'],
    etag: response.headers.get('etag'),
  }
}

export const portal = {
  name: 'Portal',
  url: 'https://portal.example',
  redirectUrls: ['https://portal.example/back'],
  publicKey: appPublicKey,
}

/** Adds at least one row of every type that the service has, in all of its relations. */
export async function fillDatabase(svc: TestApp) {
  const admin = await svc.user({ role: 'admin', abilities: ['read', 'write', 'user', 'keychain', 'admin'] })
  const create = async (type: string, attributes: object, relationships?: object) => {
    const { status, body } = await sendJsonApi(svc, admin, 'POST', `/${type}`, {
      data: { type, attributes, ...(relationships && { relationships }) },
    })
    expect(status, JSON.stringify(body)).toBe(201)
    return (body.data as { id: string }).id
  }
  const one = (type: string, id: string) => ({ data: { type, id } })
  const servers = [{ apiUrl: 'https://second.example/v1', apiKey: 'secret' }]
  const own = { providerId: 'p1', name: 'P', adapter: 'openai', apiKey: 'secret' }
  const provider = await create('ai-providers', { ...own, servers })
  const server = await create('mcp-servers', { url: 'https://tools.example', serverLabel: 'S', apiKey: 'secret' })
  const [tool] = await svc.rows<{ id: number }>(
    `insert into ai_tools (name, tool_type, server_id, mcp_name, mcp_config) values ('t', 'mcp', $1, 't', '{}') returning id`,
    [Number(server)],
  )
  const model = await create(
    'ai-models',
    { modelId: 'm1', label: 'M', usageTypes: ['main', 'external'], parameters: { deep: [1, { er: null }] } },
    { provider: one('ai-providers', provider), tools: { data: [{ type: 'ai-tools', id: String(tool!.id) }] } },
  )
  await create('ai-model-descriptions', { locale: 'en_US', description: 'D' }, { model: one('ai-models', model) })
  await create('system-models', { modelType: 'summary', usageType: 'external' }, { model: one('ai-models', model) })
  await create('system-prompts', { promptType: 'greeting', locale: 'en_US', prompt: 'Be kind.' })
  await create('ext-apps', portal)
  const user = await svc.user({ abilities: ['read', 'user', 'write'] })
  for (const caller of [admin, user]) {
    const room = { data: { type: 'rooms', attributes: { name: 'R' } } }
    const created = await sendJsonApi(svc, caller, 'POST', '/rooms', room)
    expect(created.status).toBe(201)
    await sendTwo(svc, caller, (created.body.data as { id: string }).id)
    if (svc.env.JSONAPI_ASSISTANTS) await addAssistant(createApiClient(svc, caller.token), `of-${caller.id}`, 'm1')
  }
  return { admin, user }
}

/** Writes a message in a room, and a reply to it. */
async function sendTwo(svc: TestApp, caller: TestUser, roomId: string) {
  const room = { data: { type: 'rooms', id: roomId } }
  const send = async (relationships: object) => {
    const message = { data: { type: 'room-messages', attributes: { content: 'aQ==|dA==|Yw==' }, relationships } }
    const { status, body } = await sendJsonApi(svc, caller, 'POST', '/room-messages', message)
    expect(status).toBe(201)
    return { data: { type: 'room-messages', id: (body.data as { id: string }).id } }
  }
  const attachments = { data: [{ type: 'attachments', id: await uploadOne(svc, caller) }] }
  await send({ room, attachments, thread: await send({ room }) })
}

async function uploadOne(svc: TestApp, { token }: TestUser): Promise<string> {
  const body = new FormData()
  body.append('file', new Blob(['Hello']), 'hello.txt')
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${svc.url}${BASE}/attachments/actions/upload`, { method: 'POST', headers, body })
  const answer = await response.json()
  expect(findResponseErrors('POST', '/attachments/actions/upload', response.status, answer)).toEqual([])
  return (answer as { data: { id: string } }).data.id
}
