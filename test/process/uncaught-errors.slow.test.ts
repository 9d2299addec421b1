import { expect, test } from 'vitest'
import { writeConfig } from '../kit/ai/provider.ts'
import { cloneDatabase } from '../kit/database.ts'
import { startSite } from '../kit/net/site.ts'
import { openSocket } from '../kit/realtime/socket.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'

const SOON = { timeout: 60_000, interval: 50 }

/** Starts the service as a process that asks for a list of models every second. */
async function startWatching(settings: Record<string, string> = {}) {
  await using resources = new AsyncDisposableStack()
  const site = resources.use(await startSite('127.0.0.1'))
  const config = resources.use(await writeConfig(`${site.url}/v1`))
  const database = await cloneDatabase()
  const folder = resources.use(await createDataFolder())
  const service = resources.use(
    startProcess({
      DATA_DIR: folder.path,
      DATABASE_URL: database.url,
      PORT: '0',
      AI_CONFIG: config.file,
      AI_STATUS_CHECK_EVERY: '1s',
      ...settings,
    }),
  )
  const url = await service.ready()
  const disposables = resources.move()
  return {
    site,
    service,
    url,
    uncaught: () =>
      service.output.out
        .split('\n')
        .filter((line) => line.includes('an error that nothing caught'))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

test('a list of models that is answered with 401 leaves the process running', async () => {
  await using running = await startWatching()
  running.site.paths['/v1/models'] = (_, response) =>
    void response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"no"}')

  await expect.poll(() => running.site.requestedPaths.length, SOON).toBeGreaterThan(3)

  expect((await fetch(`${running.url}/health/live`)).status).toBe(200)
  expect(running.uncaught()).toEqual([])
  expect(await running.service.stop()).toBe(0)
})

test('an uncaught error ends its call or socket, or the process in order', async () => {
  await using running = await startWatching({ EXTENSIONS: 'test/fixtures/uncaught-extension.ts' })
  const { site, url, service, uncaught } = running
  const host = new URL(site.url).host

  site.paths['/v1/models'] = (_, response) => void response.writeHead(200, { 'x-faulty': 'yes' }).end('{"data":[]}')
  await expect.poll(uncaught, SOON).toContainEqual(
    expect.objectContaining({
      part: 'outbound call',
      host,
      error: expect.objectContaining({ message: 'in an outbound call' }),
    }),
  )
  site.paths['/v1/models'] = (_, response) => void response.end('{"data":[]}')

  using socket = await openSocket(url)
  using other = await openSocket(url)
  socket.send({ event: 'pusher:ping', data: {} })
  await expect.poll(() => socket.closeCode(), SOON).toBeDefined()
  // A list of models that was under way may fail later than the socket.
  await expect.poll(uncaught, SOON).toContainEqual(
    expect.objectContaining({
      part: 'socket',
      socket: socket.id,
      error: expect.objectContaining({ message: 'in a socket' }),
    }),
  )
  expect(other.closeCode()).toBeUndefined()

  // Every tenth check is deep, and calls the listener.
  for (let count = 0; count < 10; count++) await fetch(`${url}/health`).catch(() => {})
  expect(await service.ended).toBe(1)

  expect(uncaught().at(-1)).toMatchObject({
    part: 'request',
    route: '/health',
    error: { message: 'in a request' },
  })
  expect(service.output.out).toContain('"msg":"stopping"')
})
