import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import type { ApiRequest } from '../../conformance/reference/requests.ts'
import { spoils } from '../../conformance/reference/spoils.ts'
import { type Spoil, startReferenceServer } from '../../conformance/reference-server.ts'
import { obligations } from '../../conformance/suite.ts'
import { findFreePort } from '../../kit/free-port.ts'

// A run takes some thousand requests on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

test('npm run conformance ends with 0 and a count where no MUST failed', async () => {
  await using server = await startReferenceServer()
  const { code, output } = await conformance('--url', server.url)
  expect(code).toBe(0)
  expect(output).toContain('reading.collection  MUST  A collection is read with status 200.')
  expect(output).toMatch(
    /\d+ obligations: \d+ passed, \d+ not applicable, 0 skipped, 0 named exceptions, 0 failed, 0 warnings\n$/,
  )
})

test('npm run conformance ends with 1 and what was seen where a MUST failed', async () => {
  await using server = await startReferenceServer({ break: 'duplicates' })
  const { code, output } = await conformance('--url', server.url, '--types', 'articles')
  expect(code).toBe(1)
  expect(output).toMatch(/Failed\n {2}document\.no-duplicates.*\n.*\[708\]\n.*include=author : more than once: /)
})

test('npm run conformance ends with 0 and warnings where only a SHOULD failed', async () => {
  await using server = await startReferenceServer({ spoil: spoils['negotiation.vary']! })
  const { code, output } = await conformance('--url', server.url, '--types', 'tags')
  expect(code).toBe(0)
  expect(output).toMatch(/warning {2}negotiation\.vary/)
  expect(output).toMatch(/0 failed, 1 warnings\n$/)
})

test('npm run conformance gives its results as JSON', async () => {
  await using server = await startReferenceServer()
  const { code, output } = await conformance('--url', server.url, '--json', '--types', 'tags')
  expect(code).toBe(0)
  expect(JSON.parse(output)).toHaveLength(obligations.length)
})

test('npm run conformance sends the token to the server, and to nobody else', async () => {
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
  'npm run conformance ends with 2 and its usage for %j',
  async (...args) => {
    const { code, errors } = await conformance(...args)
    expect(code).toBe(2)
    expect(errors).toContain('--token')
  },
)

test('npm run conformance ends with 1 where nobody answers', async () => {
  const { code, errors } = await conformance('--url', `http://127.0.0.1:${await findFreePort()}`, '--types', 'articles')
  expect(code).toBe(1)
  expect(errors).not.toBe('')
})

test('npm run conformance ends with 1 where there is no type to look at', async () => {
  const empty = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1')
  await once(empty, 'listening')
  const { port } = empty.address() as { port: number }
  const { code, errors } = await conformance('--url', `http://127.0.0.1:${port}`)
  empty.close()
  expect(code).toBe(1)
  expect(errors).toContain('no types')
})

test('npm run conformance takes the server address from its description file', async () => {
  await using server = await startReferenceServer()
  const folder = await mkdtemp(join(tmpdir(), 'svc-conformance-'))
  const file = join(folder, 'server.yaml')
  await writeFile(file, `server: The reference\nurl: ${server.url}\nopenapi: false\ntypes: { tags: {} }\n`)
  const { code, output } = await conformance('--describe', file)
  await rm(folder, { recursive: true })
  expect(output).toMatch(/ 0 failed, 0 warnings\n$/)
  expect(code).toBe(0)
})

test('npm run conformance exits with 1 where the file cannot be read', async () => {
  const { code, errors } = await conformance('--describe', '/nowhere/server.json')
  expect(code).toBe(1)
  expect(errors).toContain('/nowhere/server.json')
})

const watching =
  (look: (request: ApiRequest) => void): Spoil =>
  (request, answer) => {
    look(request)
    return answer(request)
  }

/** Runs the command in a process. */
async function conformance(...args: string[]) {
  const main = fileURLToPath(new URL('../../conformance/main.ts', import.meta.url))
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code: code as number | null, output, errors }
}
