import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { WebSocket } from 'ws'

export const CHANNEL = 'private-Rooms.r1'

interface Frame {
  event: string
  data: string
}

/** A client of the Pusher protocol, subscribed to the one channel. */
export class BenchSocket {
  /** Takes the name of each event that comes. */
  onEvent: (event: string) => void = () => {}
  readonly #ws: WebSocket

  private constructor(ws: WebSocket) {
    this.#ws = ws
  }

  /** Resolves once it is subscribed. Without a token nobody is asked for a signature. */
  static async open(url: string, token?: string): Promise<BenchSocket> {
    const ws = new WebSocket(`${url.replace('http', 'ws')}/app/svc?protocol=7`, { perMessageDeflate: false })
    const socket = new BenchSocket(ws)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    ws.on('error', reject)
    ws.on('close', () => reject(new Error('closed')))
    ws.on('message', async (bytes) => {
      const { event, data } = JSON.parse(String(bytes)) as Frame
      if (event === 'pusher:connection_established') await socket.#subscribe(url, token, data).catch(reject)
      else if (event === 'pusher_internal:subscription_succeeded') resolve()
      else if (event === 'pusher:error' || event === 'pusher:subscription_error') reject(new Error(String(bytes)))
      else socket.onEvent(event)
    })
    await promise
    return socket
  }

  async #subscribe(url: string, token: string | undefined, established: string): Promise<void> {
    const { socket_id } = JSON.parse(established) as { socket_id: string }
    const signed = token ? await sign(url, token, socket_id) : {}
    this.send('pusher:subscribe', { channel: CHANNEL, ...signed })
  }

  send(event: string, data: object): void {
    this.#ws.send(JSON.stringify({ event, data, channel: CHANNEL }))
  }

  /** Ends without a goodbye. */
  drop(): void {
    this.#ws.terminate()
  }
}

async function sign(url: string, token: string, socketId: string): Promise<object> {
  const { statusCode, body } = await request(`${url}/api/broadcasting/auth`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ socket_id: socketId, channel_name: CHANNEL }).toString(),
  })
  if (statusCode !== 200) throw new Error(`not signed: ${statusCode} ${await body.text()}`)
  return (await body.json()) as object
}

/** Opens many sockets and retries each, like clients do. */
export const openSockets = (url: string, count: number, tokens: readonly string[]): Promise<BenchSocket[]> =>
  openMany(count, (n) => untilOpen(url, tokens[n % tokens.length]))

/** Opens many of a kind, twenty at a time. */
export async function openMany<Opened>(count: number, open: (n: number) => Promise<Opened>): Promise<Opened[]> {
  const opened: Opened[] = []
  let next = 0
  const worker = async () => {
    while (next < count) opened.push(await open(next++))
  }
  await Promise.all(Array.from({ length: 20 }, worker))
  return opened
}

export async function untilOpen(url: string, token: string | undefined): Promise<BenchSocket> {
  for (;;) {
    const socket = await BenchSocket.open(url, token).catch(() => undefined)
    if (socket) return socket
    await pause(1000)
  }
}
