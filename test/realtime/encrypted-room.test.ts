import { expect } from 'vitest'
import { testWith } from '../kit/parts/with-parts.ts'
import { curlCommands, runCurl } from '../kit/realtime/curl.ts'
import { openFrontEndPage } from '../kit/realtime/front-end-page.ts'
import { openRoomWindow, type RoomWindow, type WindowOptions } from '../kit/realtime/room-window.ts'
import { startRooms } from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'
import { serveBrowserModules } from '../kit/web/browser-modules.ts'
import { salts } from '../kit/web/crypto.ts'

const SLOW = { timeout: 60_000, interval: 50 }

const svc = shareResource(startRooms)

type Calls = Record<string, (...given: unknown[]) => unknown>

/** Opens a window of a person with keys of their own. */
async function openWindow(who: 'dan' | 'eve') {
  const { id, token } = svc.people[who]
  const chromium = await openFrontEndPage(svc.url)
  const { page } = chromium
  await serveBrowserModules(page)
  const given: WindowOptions = { url: svc.url, token, salts, passkey: `Passkey_${who}` }
  await page.evaluate(
    `import('/assets/crypto.js')
      .then((web) => (${openRoomWindow})(web, live, Pusher, ${JSON.stringify(given)}))
      .then((opened) => { globalThis.opened = opened })`,
  )
  const call = <T>(name: keyof RoomWindow, ...given: unknown[]): Promise<T> =>
    page.evaluate(([name, given]) => (globalThis as unknown as { opened: Calls }).opened[name]?.(...given) as never, [
      name,
      given,
    ] as const)
  const shows = (texts: readonly string[]) => expect.poll(() => call('shown'), SLOW).toEqual(texts)
  return { ...chromium, id: String(id), token, call, shows }
}

type Window = Awaited<ReturnType<typeof openWindow>>

/** Creates a room of the first person and invites the other, with the key wrapped for them. */
async function meet(host: Window, guest: Window) {
  const room = await host.call<{ id: string; slug: string }>('makeRoom', 'Chess')
  const invitation = await host.call('invite', room.id, guest.id, await guest.call('publicKey'))
  await guest.call('accept', invitation)
  for (const { call } of [host, guest]) await call('enter', room.id, room.slug)
  return room
}

testWith('chromium')('two windows and curl follow an encrypted room without loss while offline', async () => {
  await using dan = await openWindow('dan')
  await using eve = await openWindow('eve')
  const room = await meet(dan, eve)
  await using curl = runCurl(curlCommands[0] ?? '', { url: svc.url, token: dan.token, room: room.id })
  await expect.poll(() => curl.output.text, SLOW).toMatch(/^id: /m)
  const sentTexts: string[] = []
  const say = async ({ call }: Window, text: string) => {
    await call('say', text)
    sentTexts.push(text)
  }

  await say(dan, 'the first move')
  await say(eve, 'the answer to it')
  for (const window of [dan, eve]) await window.shows(sentTexts)
  const before = [...sentTexts]
  await eve.page.context().setOffline(true)
  for (let move = 2; move < 10; move++) await say(dan, `move ${move}`)
  await dan.shows(sentTexts)
  expect(await eve.call('shown')).toEqual(before)
  await eve.page.context().setOffline(false)
  for (const window of [dan, eve]) await window.shows(sentTexts)
  await say(eve, 'back again')
  for (const window of [dan, eve]) await window.shows(sentTexts)

  const toldToCurl = () => curl.output.text.match(/"kind":"room-messages.created"/g)?.length
  await expect.poll(toldToCurl, SLOW).toBe(sentTexts.length)
  const stored = await svc.rows<{ content: string }>('select content from room_messages where room_id = $1', [room.id])
  expect(stored).toHaveLength(sentTexts.length)
  for (const { content } of stored) expect(content).toMatch(/^[\w+/=]+\|[\w+/=]+\|[\w+/=]+$/)
})
