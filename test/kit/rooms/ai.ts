import { expect } from 'vitest'
import * as web from '../../../facades/web/browser/crypto.ts'
import { startProvider, writeConfig } from '../ai/provider.ts'
import { startApp } from '../app.ts'
import type { createApiClient } from '../json-api/client.ts'
import { SLOW } from '../service-client.ts'
import { createRoom, type RoomPerson } from './messages.ts'

/** An AI key of a room: any 32 bytes. */
export const KEY = Buffer.alloc(32, 7).toString('base64')

/** Starts a service with a test provider, in which programs may ask in rooms. */
export async function startRoomAi(settings: Record<string, string> = {}, options: Parameters<typeof startApp>[1] = {}) {
  await using resources = new AsyncDisposableStack()
  const provider = resources.use(await startProvider())
  const config = resources.use(await writeConfig(provider.url, { model: { input: ['text', 'image'] } }))
  const svc = resources.use(
    await startApp({ AI_CONFIG: config.file, ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true', ...settings }, options),
  )
  const disposables = resources.move()
  return { svc, provider, config, [Symbol.asyncDispose]: () => disposables.disposeAsync() }
}

export type RoomAiApp = Awaited<ReturnType<typeof startRoomAi>>

type Role = 'admin' | 'editor' | 'viewer'

/** Creates a room with people whose tokens may ask models. */
export async function createAiRoom<const R extends Role>({ svc }: Pick<RoomAiApp, 'svc'>, roles: readonly R[] = []) {
  const room = await createRoom(svc as never, roles)
  for (const person of [room.admin, ...roles.map((role) => (room as unknown as Record<Role, RoomPerson>)[role])])
    await svc.rows("update access_tokens set abilities = abilities || '{ai}' where user_id = $1", [person.id])
  return Object.assign(room, { path: `/rooms/${room.id}/actions` })
}

type RoomClient = Pick<ReturnType<typeof createApiClient>, 'post' | 'get'>

export const buildUserMessage = (text: string, more: object = {}) => ({
  role: 'user',
  content: [{ type: 'text', text }],
  ...more,
})

export const requestRoomAnswer = (by: RoomClient, room: string, text: string, more: object = {}) =>
  by.post(`/rooms/${room}/actions/ask`, { model: 'mock-1', messages: [buildUserMessage(text)], key: KEY, ...more })

export interface Disclosure {
  id: string
  user: string | null
  model: string
  assistant: string | null
  provider: string
  state: string
  error: string | null
  answer: string | null
  endedAt: string | null
  parts: { role: string; message: string | null; kind: string; bytes: number; hash: string }[]
  knowledge: {
    embedding: { provider: string; model: string } | null
    searches: { bytes: number; hash: string }[]
    passages: number
  } | null
}

export const listDisclosures = async (by: RoomClient, room: string) =>
  (await by.get(`/rooms/${room}/actions/disclosures`)).meta['disclosures'] as Disclosure[]

/** Waits until the last answer in a room has ended; returns its disclosure. */
export async function waitForAnswer(by: RoomClient, room: string): Promise<Disclosure> {
  const last = async () => (await listDisclosures(by, room))[0]
  await expect.poll(async () => (await last())?.endedAt, SLOW).toBeTruthy()
  return (await last()) as Disclosure
}

/** Decrypts a message with the key of the room, like a browser. */
export const openContent = async (content: unknown, key = KEY): Promise<{ text: string; citations?: unknown[] }> =>
  JSON.parse(await web.unseal(await web.importKey(key), web.readSealed(String(content))))

/** Reads the usage records of a room in order. */
export const readUsage = ({ svc }: Pick<RoomAiApp, 'svc'>, room: string) =>
  svc.rows<{ context: string; outcome: string; model: string }>(
    'select context, outcome, model from usage_records where room_id = $1 order by id',
    [room],
  )

export const listMessages = async (by: RoomClient, room: string) =>
  (await by.get(`/rooms/${room}/messages?include=member`)).list
