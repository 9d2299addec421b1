import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { CIPHERTEXT } from '../kit/rooms/messages.ts'
import { openSettings } from '../kit/web/pages.ts'

const { resolve } = createRequire(import.meta.url)
const libraries = ['pusher-js/dist/web/pusher.js', 'laravel-echo/iife'].map((path) =>
  readFileSync(resolve(path), 'utf8'),
)

/** Code of another front end, run in its page. It references nothing outside itself. */
async function followRoom(slug: string): Promise<void> {
  const global = globalThis as unknown as Record<string, never> & {
    heard: unknown[]
    Echo: new (options: object) => never
  }
  const Echo = ('default' in global.Echo ? global.Echo.default : global.Echo) as new (
    options: object,
  ) => {
    private(name: string): Record<string, (...given: unknown[]) => never>
    join(name: string): Record<string, (...given: unknown[]) => never>
  }
  const { data } = (await (await fetch('/api/svc/v1/connections/svc')).json()) as {
    data: { attributes: { configs: { transfer: { websocket: Record<string, unknown> } } } }
  }
  const { key, host, port, path, forceTls } = data.attributes.configs.transfer.websocket
  const echo = new Echo({
    broadcaster: 'reverb',
    key,
    wsHost: host,
    wsPath: path,
    wsPort: port,
    wssPort: port,
    forceTLS: forceTls,
    enabledTransports: ['ws', 'wss'],
  })
  global.heard = []
  const hear = (what: string) => (data: unknown) => void global.heard.push([what, data])
  const room = echo.private(`Rooms.${slug}`)
  room['listen']?.('RoomMessageEvent', hear('message'))
  room['listenForWhisper']?.('typing', hear('typing'))
  const isHere = new Promise<void>((done) => {
    echo.join(`Rooms.${slug}`)['here']?.((people: unknown) => {
      hear('here')(people)
      done()
    })
  })
  Object.assign(global, { room })
  await Promise.all([new Promise((done) => room['subscribed']?.(done)), isHere])
}

const heardIn = (page: Page) => page.evaluate(() => (globalThis as unknown as { heard: unknown[] }).heard)

async function openRoom(svc: TestApp, account: string, slug: string) {
  const chromium = await openSettings(svc, account)
  await svc.rows(
    `insert into room_members (room_id, user_id, role) select id, $1, 'editor' from rooms where slug = $2`,
    [chromium.id, slug],
  )
  const debug = await chromium.page.context().newCDPSession(chromium.page)
  for (const expression of libraries) await debug.send('Runtime.evaluate', { expression })
  await chromium.page.evaluate(followRoom, slug)
  return chromium
}

describeWith('chromium')('laravel-echo in two windows of Chromium', () => {
  test('connects with a session, and receives messages and typing of another window', async () => {
    await using svc = await startApp()
    const author = await svc.user({ abilities: ['read', 'write'] })
    const [room] = await svc.rows<{ id: number }>(
      `insert into rooms (name, slug) values ('Chess', 'chess-1') returning id`,
    )
    await svc.rows(`insert into room_members (room_id, user_id, role) values ($1, $2, 'editor')`, [room?.id, author.id])
    await using one = await openRoom(svc, 'ada', 'chess-1')
    await using other = await openRoom(svc, 'bob', 'chess-1')

    await one.page.evaluate(() =>
      (globalThis as unknown as { room: { whisper(event: string, data: object): void } }).room.whisper('typing', {
        user: 'ada',
        typing: true,
      }),
    )
    await svc.send('POST', '/trpc/roomMessages.create', {
      token: author.token,
      body: { room: String(room?.id), content: CIPHERTEXT, keyEpoch: 0, thread: null, clientId: null },
    })

    const message = ['message', { data: { type: 'message', data: { slug: 'chess-1', message_id: '1.000' } }, seq: 1 }]
    await expect.poll(() => heardIn(one.page)).toContainEqual(message)
    await expect.poll(() => heardIn(other.page)).toContainEqual(message)
    await expect.poll(() => heardIn(other.page)).toContainEqual(['typing', { user: 'ada', typing: true }])
    expect(await heardIn(other.page)).toContainEqual(['here', [expect.anything(), expect.anything()]])
    expect(await heardIn(one.page)).not.toContainEqual(['typing', { user: 'ada', typing: true }])
    expect([...one.complaints, ...other.complaints]).toEqual([])
  })
})
