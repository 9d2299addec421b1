import { once } from 'node:events'
import { connect } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { expect, test, vi } from 'vitest'
import { type Behaviour, beginStream, chunk, configFor, question, startProvider } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { SLOW } from '../kit/started.ts'

/** More than all buffers on the way hold. */
const flood: Behaviour = async (_, response) => {
  const piece = chunk({ delta: { content: 'x'.repeat(65_536) } })
  beginStream(response)
  const pieces = function* () {
    for (;;) yield piece
  }
  await pipeline(pieces, response).catch(() => undefined)
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
    accept,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${json}`)
  return socket
}

const outcomes = async (svc: TestApp) => {
  await svc.services.usageLedger.flush()
  return (await svc.rows<{ outcome: string }>('select outcome from usage_records')).map(({ outcome }) => outcome)
}

const { payload } = question()

test.for<[string, string, string, object]>([
  ['server-sent events', '/api/ai-req', 'accept: text/event-stream', { payload }],
  ['tRPC', '/trpc/ai.stream?batch=1', 'trpc-accept: application/jsonl', { 0: payload }],
])(
  'a stream of %s that its connected client does not read ends, with its record, when its time is up',
  async ([, path, accept, body]) => {
    await using upstream = await startProvider(flood)
    await using config = await configFor(upstream.url, { provider: { timeouts: { total: '1s' } } })
    await using svc = await startApp({ AI_CONFIG: config.file, AI_HEARTBEAT: '100ms' })
    const { token } = await svc.user()

    const socket = await postUnread(svc, path, token, accept, body)

    await vi.waitFor(async () => expect(await outcomes(svc)).toEqual(['failed']), SLOW)
    await vi.waitFor(() => expect(upstream.asked[0]?.abortedAt).toBeDefined(), SLOW)
    // Who does not read learns by writing that the service has hung up.
    await vi.waitFor(() => {
      socket.write('\r\n')
      expect(socket.destroyed).toBe(true)
    }, SLOW)
    expect(await outcomes(svc)).toEqual(['failed'])
  },
)
