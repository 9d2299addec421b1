import { once } from 'node:events'
import { type ClientRequest, get, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Part } from './part.ts'
import { openMany } from './sockets.ts'

/** Milliseconds after which the memory used to open them is released. */
const SETTLE_MS = 6000

/** Kilobytes of live memory for each of many idle connections. */
export async function idleMemory<Opened>(part: Part, open: () => Promise<Opened[]>) {
  const before = await part.heap()
  const opened = await open()
  await pause(SETTLE_MS)
  return { opened, kilobytes: (((await part.heap()) - before) * 1000) / opened.length }
}

/** Follows a room over so many connections, by server-sent events; resolves once each was told its position. */
export const openStreams = (url: string, count: number, tokens: readonly string[]): Promise<ClientRequest[]> =>
  openMany(count, async (n) => {
    const path = `/trpc/rooms.changes?input=${encodeURIComponent('{"id":"1"}')}`
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${tokens[n % tokens.length]}` }
    const request = get(url + path, { agent: false, headers })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    for (const one of [request, response]) one.on('error', () => {})
    let received = ''
    await new Promise<void>((done, fail) => {
      response.on('end', () => fail(new Error(`A stream ended: ${response.statusCode} ${received}`)))
      response.on('data', (piece) => {
        received += piece
        if (received.includes('"type":"position"')) done()
      })
    })
    return request
  })
