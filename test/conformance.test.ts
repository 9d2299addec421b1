import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { isObject } from './conformance/json.ts'
import { type Breakage, breakages } from './conformance/reference/breakages.ts'
import { types } from './conformance/reference/model.ts'
import type { Asked, Reply } from './conformance/reference/requests.ts'
import { spoils } from './conformance/reference/spoils.ts'
import { type Spoil, startReferenceServer } from './conformance/reference-server.ts'
import { obligations, type Result, runSuite } from './conformance/suite.ts'
import { freePort } from './free-port.ts'

const idsOf = (results: Result[], ...states: Result['state'][]) =>
  results.filter(({ state }) => states.includes(state)).map(({ id }) => id)
const held = (id: string) => obligations.filter((obligation) => obligation.id === id)

describe('the conformance suite', () => {
  test('names each obligation once, with its level and where it comes from', () => {
    const ids = obligations.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBeGreaterThan(150)
    for (const { level, source, says } of obligations) {
      expect(level).toMatch(/^(MUST|SHOULD|MAY)$/)
      expect(source).toMatch(/^jsonapi 1\.1 .+ \[[\d, -]+\]$/)
      expect(says).toMatch(/\.$/)
    }
  })

  test('finds every obligation met, and none left out, by a server that is right', async () => {
    await using server = await startReferenceServer()
    const results = await runSuite({ url: server.url, write: true })
    expect(results.filter(({ state }) => state !== 'passed')).toEqual([])
    expect(results).toHaveLength(obligations.length)
  })

  test('leaves the server as it was', async () => {
    await using server = await startReferenceServer()
    const rows = () => JSON.stringify(Object.keys(types).map((name) => server.store.all(name)))
    const before = rows()
    await runSuite({ url: server.url, write: true })
    expect(rows()).toBe(before)
  })

  test('writes nothing unless it may', async () => {
    const methods = new Set<string>()
    await using server = await startReferenceServer({
      spoil: watching(({ method }) => methods.add(method)),
    })
    const results = await runSuite({ url: server.url })
    expect([...methods]).toEqual(['GET'])
    expect(idsOf(results, 'failed')).toEqual([])
    expect(results.find(({ id }) => id === 'creating.status')).toMatchObject({
      state: 'not applicable',
      why: expect.stringContaining('--write'),
    })
  })

  test('can do without a description of the server, where it is told the types', async () => {
    await using server = await startReferenceServer({
      spoil: (asked, answer) => (asked.segments[0] === 'openapi.json' ? { status: 404 } : answer(asked)),
    })
    const results = await runSuite({ url: server.url, types: ['articles', 'people'] })
    expect(idsOf(results, 'failed')).toEqual([])
    expect(idsOf(results, 'passed')).toEqual(
      expect.arrayContaining(['reading.related', 'reading.linkage', 'paging.each-once', 'document.linkage']),
    )
  })

  test.each(Object.entries(breakages) as [Breakage, string[]][])(
    'sees that a server is wrong in this: %s',
    async (breakage, expected) => {
      await using server = await startReferenceServer({ break: breakage })
      const results = await runSuite({ url: server.url, write: true })
      expect(idsOf(results, 'failed')).toEqual(expected)
    },
  )

  test.each(Object.entries(spoils))('sees that a server does not meet %s', async (id, spoil) => {
    await using server = await startReferenceServer({ spoil })
    const results = await runSuite({ url: server.url, write: true }, held(id))
    expect(results).toMatchObject([{ id, state: 'failed' }])
    expect(results[0]?.findings).not.toContainEqual(expect.objectContaining({ at: 'the check itself' }))
  })

  test('has no obligation that cannot fail, other than what is optional', () => {
    const seenFailing = new Set([...Object.values<readonly string[]>(breakages).flat(), ...Object.keys(spoils)])
    const never = obligations.filter(({ id, level }) => level !== 'MAY' && !seenFailing.has(id))
    expect(never.map(({ id }) => id)).toEqual([])
  })

  test('tells a named exception from a failure', async () => {
    const member = (name: string) => startReferenceServer({ spoil: (asked, answer) => withMeta(answer(asked), name) })
    await using named = await member('_svc_sync_log')
    await using unnamed = await member('_another')
    expect(await runSuite({ url: named.url }, held('names.edges'))).toMatchObject([{ state: 'named exception' }])
    expect(await runSuite({ url: unnamed.url }, held('names.edges'))).toMatchObject([{ state: 'failed' }])
  })
})

describe('npm run conformance', () => {
  test('ends with 0 and a count where no MUST failed', async () => {
    await using server = await startReferenceServer()
    const { code, output } = await conformance('--url', server.url)
    expect(code).toBe(0)
    expect(output).toContain('reading.collection  MUST  A collection is read with status 200.')
    expect(output).toMatch(
      /\d+ obligations: \d+ passed, \d+ not applicable, 0 skipped, 0 named exceptions, 0 failed, 0 warnings\n$/,
    )
  })

  test('ends with 1 and what was seen where a MUST failed', async () => {
    await using server = await startReferenceServer({ break: 'duplicates' })
    const { code, output } = await conformance('--url', server.url)
    expect(code).toBe(1)
    expect(output).toMatch(/Failed\n {2}document\.no-duplicates.*\n.*\[708\]\n.*include=author : more than once: /)
  })

  test('ends with 0 and warnings where only a SHOULD failed', async () => {
    await using server = await startReferenceServer({ spoil: spoils['negotiation.vary']! })
    const { code, output } = await conformance('--url', server.url)
    expect(code).toBe(0)
    expect(output).toMatch(/warning {2}negotiation\.vary/)
    expect(output).toMatch(/0 failed, 1 warnings\n$/)
  })

  test('gives its results as JSON', async () => {
    await using server = await startReferenceServer()
    const { code, output } = await conformance('--url', server.url, '--json', '--write')
    expect(code).toBe(0)
    expect(JSON.parse(output)).toHaveLength(obligations.length)
  })

  test('sends the token to the server, and to nobody else', async () => {
    const tokens = new Set<string | undefined>()
    await using server = await startReferenceServer({
      spoil: watching(({ headers }) => tokens.add(headers.authorization)),
    })
    await using other = await startReferenceServer({
      spoil: watching(({ headers }) => tokens.add(`other ${headers.authorization}`)),
    })
    await conformance('--url', server.url, '--token', 'secret', '--openapi', `${other.url}/openapi.json`)
    expect([...tokens].sort()).toEqual(['Bearer secret', 'other undefined'])
  })

  test.each([[], ['--url', 'nowhere'], ['--url', 'http://localhost', '--nonesuch']])(
    'ends with 2 and its usage for %j',
    async (...args) => {
      const { code, errors } = await conformance(...args)
      expect(code).toBe(2)
      expect(errors).toContain('--token')
    },
  )

  test('ends with 1 where nobody answers', async () => {
    const { code, errors } = await conformance('--url', `http://127.0.0.1:${await freePort()}`, '--types', 'articles')
    expect(code).toBe(1)
    expect(errors).not.toBe('')
  })

  test('ends with 1 where there is no type to look at', async () => {
    const empty = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1')
    await once(empty, 'listening')
    const { port } = empty.address() as { port: number }
    const { code, errors } = await conformance('--url', `http://127.0.0.1:${port}`)
    empty.close()
    expect(code).toBe(1)
    expect(errors).toContain('no types')
  })
})

const watching =
  (look: (asked: Asked) => void): Spoil =>
  (asked, answer) => {
    look(asked)
    return answer(asked)
  }

const withMeta = (reply: Reply, name: string): Reply =>
  isObject(reply.document) && 'data' in reply.document
    ? { ...reply, document: { ...reply.document, meta: { [name]: [] } } }
    : reply

/** Runs the command as a person would. */
async function conformance(...args: string[]) {
  const main = fileURLToPath(new URL('conformance/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code: code as number | null, output, errors }
}
