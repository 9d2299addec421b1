// @module-tag debian

import { afterEach, describe, expect, test, vi } from 'vitest'
import { appRouter } from '../../routers/index.ts'
import { openBrowser } from '../kit/browser.ts'
import { listRoutes } from '../kit/json-api/all-routes.ts'
import { base } from '../kit/json-api/client.ts'
import { type Call, describeCall, readProblem, startBehindRelay } from '../kit/parts/behind-relay.ts'
import { shareResource } from '../kit/share-resource.ts'

// Hundreds of requests wait for a connection on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

const app = shareResource(startBehindRelay)
afterEach(() => {
  app.watch(undefined)
  app.relay.mend()
})

/** Every route and every procedure, with an empty body where one is accepted. */
async function everyCall(): Promise<Call[]> {
  const routes = (await listRoutes(app.svc)).filter(
    ([method, path]) => ['GET', 'POST', 'PATCH', 'DELETE'].includes(method) && !path.startsWith('/trpc'),
  )
  const paths = routes.map(([method, path]) => [method, path.replace(':id', '1').replace('*', '/x')] as const)
  const declared: Record<string, unknown> = appRouter._def.procedures
  const procedures = Object.entries(declared).map(([name, procedure]) => {
    const { type } = (procedure as { _def: { type: string } })._def
    return [type === 'query' ? 'GET' : 'POST', `/trpc/${name}`] as const
  })
  const calls = [...paths, ...procedures].map(([method, path]) => ({
    method,
    path,
    ...(method !== 'GET' && { body: {} }),
  }))
  // The requests that end the session come last.
  return calls.sort((a, b) => Number(endsSession(a)) - Number(endsSession(b)))
}

const endsSession = ({ path }: Call) => /logout|reset|end-|sessions\.end/i.test(path)

describe('while the database is out of reach', () => {
  test.for<[string, () => Promise<Record<string, string>>]>([
    ['a guest', async () => ({})],
    ['a token', async () => app.token],
    ['a session', () => app.session('eve')],
    ['a session without keys', () => app.session('new', { hasKeys: false })],
  ])('no route and no procedure answers %s with another failure than 503', async ([, headersOf]) => {
    const [headers, calls] = [await headersOf(), await everyCall()]
    expect(calls.length).toBeGreaterThan(250)
    app.relay.cut()

    const failed: [string, number, string | undefined][] = []
    for (const call of calls) {
      const answer = await app.send(headers, call)
      if (answer.status >= 500) failed.push([describeCall(call), answer.status, readProblem(call, answer)])
    }

    expect(failed.length).toBeGreaterThan(0)
    expect(failed.filter(([, status, problem]) => status !== 503 || problem !== 'unavailable')).toEqual([])
  })

  test('a right password is answered with 503, and works once the database is back', async () => {
    await app.session('ida')
    app.relay.cut()
    const browser = openBrowser(app.svc.url)

    const { status, body } = await browser.login('ida')

    expect([status, body['success']]).toEqual([503, false])
    app.relay.mend()
    expect((await browser.login('ida')).status).toBe(200)
  })

  test.for([
    ['starts up', '57P03'],
    ['shuts down', '57P01'],
    ['has no connection to spare', '53300'],
    ['refuses the connection', '08004'],
  ])('a server that says that it %s leads to 503', async ([, code]) => {
    app.relay.cut()
    app.relay.mend()
    app.watch((_, client) => {
      const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mnot now\0\0`)
      const head = Buffer.from('E\0\0\0\0')
      head.writeInt32BE(fields.length + 4, 1)
      client.end(Buffer.concat([head, fields]))
      return 'hold'
    })
    const call = { method: 'GET', path: `${base}/ai-models` }

    const answer = await app.send(app.token, call)

    expect([answer.status, readProblem(call, answer)]).toEqual([503, 'unavailable'])
  })
})
