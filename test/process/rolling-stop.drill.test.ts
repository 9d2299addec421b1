import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { answers, buildQuestion, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { cloneDatabase } from '../kit/database.ts'
import { findFreePort } from '../kit/free-port.ts'
import { startHaproxy } from '../kit/parts/haproxy.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { readTokens } from '../kit/service-client.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'

vi.setConfig({ testTimeout: 15 * 60_000 })

const SLOW = { timeout: 60_000, interval: 20 }
const PAUSE_MS = 10

describeWith('haproxy')('two replicas behind a load balancer', () => {
  test('are restarted one after the other under load, and no request fails', async () => {
    await using database = await cloneDatabase()
    await using folder = await createDataFolder()
    await using provider = await startProvider(async (request, response) => {
      await pause(100)
      await answers('Good day.')(request, response)
    })
    await using config = await writeConfig(provider.url)
    const ports = [await findFreePort(), await findFreePort()]
    const start = async (port = 0) => {
      const settings = {
        DATABASE_URL: database.url,
        DATA_DIR: folder.path,
        AI_CONFIG: config.file,
        DRAIN_DELAY: '5s',
      }
      const replica = startProcess({ ...settings, PORT: String(port), HOST: '127.0.0.1' })
      await replica.ready()
      return replica
    }
    await using stack = new AsyncDisposableStack()
    const replicas = [stack.use(await start(ports[0])), stack.use(await start(ports[1]))]
    await using balancer = await startHaproxy(ports)
    await vi.waitFor(async () => expect(await balancer.up()).toBe(2), SLOW)
    const [token = ''] = replicas.flatMap(({ output }) => readTokens(output.out))
    const load = startLoad(balancer.url, token)

    for (let round = 0; round < 4; round++) {
      const index = round % 2
      await pause(500)
      expect(await replicas[index]?.stop()).toBe(0)
      await vi.waitFor(async () => expect(await balancer.up()).toBe(1), SLOW)
      const restarted = stack.use(await start(ports[index]))
      replicas[index] = restarted
      await vi.waitFor(async () => expect(await balancer.up()).toBe(2), SLOW)
    }
    const outcomes = await load.stop()

    expect(outcomes).toEqual({ 'GET 200': expect.any(Number), 'POST 200': expect.any(Number) })
  })
})

/**
 * Starts eight clients, of which each sends its next request soon after an answer; stopping them returns the number of each
 * status. Without a pause they would take the processor from the replicas that start.
 */
function startLoad(url: string, token: string) {
  const outcomes: Record<string, number> = {}
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify(buildQuestion('Hello', 'mock-1'))
  let going = true
  const client = async (method: string, path: string) => {
    while (going) {
      const outcome = await fetch(url + path, { method, headers, ...(method === 'POST' && { body }) }).then(
        async (response) => {
          const text = await response.text()
          return response.ok ? response.status : `${response.status} ${text}`
        },
        (error: Error) => String(error.cause ?? error),
      )
      const name = `${method} ${outcome}`
      outcomes[name] = (outcomes[name] ?? 0) + 1
      await pause(PAUSE_MS)
    }
  }
  const clients = [0, 1, 2, 3].flatMap(() => [client('POST', '/api/ai-req'), client('GET', '/api/svc/v1/users/me')])
  return {
    async stop() {
      going = false
      await Promise.all(clients)
      return outcomes
    },
  }
}
