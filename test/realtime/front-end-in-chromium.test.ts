import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import type * as live from '../../facades/client/live/index.ts'
import { findFreePort } from '../kit/free-port.ts'
import { type JsonApiApp, startJsonApi } from '../kit/json-api/client.ts'
import { startRelay } from '../kit/parts/relay.ts'
import { testWith } from '../kit/parts/with-parts.ts'
import { openFrontEndPage } from '../kit/realtime/front-end-page.ts'
import { createRoom } from '../kit/rooms/messages.ts'

const SLOW = { timeout: 60_000, interval: 100 }

let svc: JsonApiApp
let relay: Awaited<ReturnType<typeof startRelay>>
beforeAll(async () => {
  const port = await findFreePort()
  relay = await startRelay(port)
  svc = await startJsonApi({ PORT: `${port}`, BASE_URL: `http://127.0.0.1:${relay.port}` })
})
afterAll(async () => {
  await relay[Symbol.asyncDispose]()
  await svc[Symbol.asyncDispose]()
})

interface Given {
  url: string
  token: string
  room: string
  slug: string
  over: string
}

interface Showing {
  shown: string[]
  live: live.LiveStream
}

type NewPusher = new (key: string, options: object) => live.PusherClient

/** Runs in the page: shows the messages of a room, by the module of the package. */
function showRoom({ url, token, room, slug, over }: Given): void {
  const page = globalThis as unknown as { live: typeof live; Pusher: NewPusher }
  const { follow, overPusher, roomStream } = page.live
  const headers = { authorization: `Bearer ${token}` }
  const showing: Partial<Showing> = { shown: [] }
  const stream = roomStream({ url, headers }, room)
  let { transport } = stream
  if (over === 'pusher-js') {
    const { hostname, port } = new URL(url)
    const channelAuthorization = { transport: 'ajax', endpoint: `${url}/api/broadcasting/auth`, headers }
    const address = { cluster: '', wsHost: hostname, wsPort: Number(port), wsPath: '/ws/transfer', forceTLS: false }
    const pusher = new page.Pusher('svc', { ...address, enabledTransports: ['ws'], channelAuthorization })
    transport = overPusher(pusher, `private-Rooms.${slug}`)
  }
  const read = async () => {
    const response = await fetch(`${url}/api/svc/v1/rooms/${room}/messages?page[size]=200`, { headers })
    const { data } = (await response.json()) as { data: { id: string }[] }
    showing.shown = data.map(({ id }) => id)
  }
  const apply = ({ kind, subject }: live.Change) => {
    if (kind === 'room-messages.created' && !showing.shown?.includes(subject)) showing.shown?.push(subject)
  }
  showing.live = follow({ ...stream, transport, read, apply })
  Object.assign(globalThis, { showing })
}

const shownIn = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as { showing: Showing }).showing.shown.map(Number).sort((a, b) => a - b))

for (const over of ['server-sent events', 'pusher-js'])
  testWith('chromium')(`a page in Chromium over ${over} misses nothing while it is offline`, async () => {
    const room = await createRoom(svc)
    const [row] = await svc.rows<{ slug: string }>('select slug from rooms where id = $1', [room.id])
    const url = `http://127.0.0.1:${relay.port}`
    await using chromium = await openFrontEndPage(url)
    const { page } = chromium
    const sent = [Number((await room.send()).one.id)]

    await page.evaluate(showRoom, { url, token: room.admin.token, room: room.id, slug: row?.slug ?? '', over })
    await expect.poll(() => shownIn(page), SLOW).toEqual(sent)
    sent.push(Number((await room.send()).one.id))
    await expect.poll(() => shownIn(page), SLOW).toEqual(sent)
    relay.cut()
    for (let n = 0; n < 5; n++) sent.push(Number((await room.send()).one.id))
    relay.mend()

    await expect.poll(() => shownIn(page), SLOW).toEqual(sent)
  })
