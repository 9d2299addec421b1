import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
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
import { flood, postUnread } from '../kit/ai/unread.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { SLOW } from '../kit/service-client.ts'

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
  await svc.services.ai.usageLedger.flush()
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
