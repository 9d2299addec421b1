import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import {
  type Behaviour,
  beginStream,
  buildChunk,
  buildQuestion,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { SLOW } from '../kit/service-client.ts'

/** Sends more than all buffers on the way hold. */
const flood: Behaviour = async (_, response) => {
  const piece = buildChunk({ delta: { content: 'x'.repeat(65_536) } })
  beginStream(response)
  const pieces = function* () {
    for (;;) yield piece
  }
  await pipeline(pieces, response).catch(() => undefined)
}

/** Connections that services of this process have accepted, by the remote port. */
const acceptedSockets = new Map<number | undefined, Socket>()
const recordSocket = (message: unknown) => {
  const { socket } = message as { socket: Socket }
  acceptedSockets.set(socket.remotePort, socket)
}

const isStuck = () => [...acceptedSockets.values()].some(({ writableLength }) => writableLength > 0)

/** Sends until the service buffers a little, not enough for backpressure, and then stops. */
const fallsSilent: Behaviour = async (_, response) => {
  beginStream(response)
  while (!response.destroyed) {
    // Bytes that the system takes until the next check have left the service.
    if (isStuck()) await pause(50)
    if (isStuck()) return
    response.write(buildChunk({ delta: { content: 'x'.repeat(30_000) } }))
    await pause(1)
  }
}

/** Posts over a socket from which nothing is read. */
async function postUnread({ url }: TestApp, path: string, token: string, accept: string, body: object) {
  const { port, host } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1').pause()
  socket.on('error', () => {})
  await once(socket, 'connect')
  const json = JSON.stringify(body)
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${host}`,
    `authorization: Bearer ${token}`,
    `content-type: application/json`,
    `content-length: ${Buffer.byteLength(json)}`,
    // An answer that fits in the buffers on the way is complete for the service.
    'connection: close',
    accept,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${json}`)
  return socket
}

const resources = new AsyncDisposableStack()
let svc: TestApp
let upstream: Awaited<ReturnType<typeof startProvider>>

beforeAll(async () => {
  subscribe('net.server.socket', recordSocket)
  upstream = resources.use(await startProvider(flood))
  const config = resources.use(await writeConfig(upstream.url, { provider: { timeouts: { total: '3s' } } }))
  svc = resources.use(await startApp({ AI_CONFIG: config.file, AI_HEARTBEAT: '100ms' }))
})
afterAll(async () => {
  unsubscribe('net.server.socket', recordSocket)
  await resources.disposeAsync()
})
afterEach(() => acceptedSockets.clear())

const outcomes = async (userId: number) => {
  await svc.services.usageLedger.flush()
  const records = await svc.rows<{ outcome: string }>('select outcome from usage_records where user_id = $1', [userId])
  return records.map(({ outcome }) => outcome)
}

const { payload } = buildQuestion()

const surfaces: [string, string, string, object][] = [
  ['server-sent events', '/api/ai-req', 'accept: text/event-stream', { payload }],
  ['tRPC', '/trpc/ai.stream?batch=1', 'trpc-accept: application/jsonl', { 0: payload }],
]

const sends: [string, Behaviour][] = [
  ['a provider that says more than is read', flood],
  ['a provider that falls silent', fallsSilent],
]

test.for(surfaces.flatMap(([surface, ...how]) => sends.map((sent) => [surface, ...sent, ...how] as const)))(
  'a stream of %s that nobody reads, of %s, times out and is recorded',
  async ([, , behave, path, accept, body]) => {
    upstream.behave = behave
    upstream.requests.length = 0
    const { id, token } = await svc.user()

    const socket = await postUnread(svc, path, token, accept, body)

    await vi.waitFor(async () => expect(await outcomes(id)).toEqual(['failed']), SLOW)
    await vi.waitFor(() => expect(upstream.requests[0]?.abortedAt).toBeDefined(), SLOW)
    // A client that does not read notices only by writing that the service has closed the connection.
    await vi.waitFor(() => {
      socket.write('\r\n')
      expect(socket.destroyed).toBe(true)
    }, SLOW)
    expect(await outcomes(id)).toEqual(['failed'])
  },
)
