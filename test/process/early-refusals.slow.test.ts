import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { request } from 'undici'
import { beforeAll, describe, expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { shareResource } from '../kit/share-resource.ts'

const SIZE = 4 * 1024 * 1024
const TRIES = 4
const run = promisify(execFile)

const svc = shareResource(startApp)
beforeAll(async () => {
  await writeFile(join(svc.folder, 'body.json'), body)
})

const body = JSON.stringify({ account: 'ada', password: 'x'.repeat(SIZE) })
const json = { 'content-type': 'application/json' }

async function* pieces() {
  for (let at = 0; at < body.length; at += 65_536) yield Buffer.from(body.slice(at, at + 65_536))
}

const curl = async (url: string, headers: Record<string, string>, ...more: string[]) => {
  const flags = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const file = `@${join(svc.folder, 'body.json')}`
  const { stdout } = await run('curl', [
    '-s',
    '-o',
    '/dev/null',
    '-w',
    '%{http_code}',
    ...flags,
    ...more,
    '-d',
    file,
    url,
  ])
  return Number(stdout)
}

/** Sends the whole body before it reads, like simple clients. */
async function patient(url: string, headers: Record<string, string>, version: string): Promise<number> {
  const { hostname, port, pathname } = new URL(url)
  const socket = connect(Number(port), hostname)
  const lines = Object.entries({ ...headers, host: `${hostname}:${port}`, 'content-length': `${body.length}` })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  try {
    await once(socket, 'connect')
    const failed = once(socket, 'error').then(([error]) => Promise.reject(error as Error))
    const write = (bytes: string | Buffer) => new Promise<void>((done) => socket.write(bytes, () => done()))
    await Promise.race([write(`POST ${pathname} HTTP/${version}\r\n${head}\r\n`), failed])
    for await (const piece of pieces()) {
      await Promise.race([write(piece), failed])
      await setImmediate()
    }
    const [answer] = (await Promise.race([once(socket, 'data'), failed])) as [Buffer]
    failed.catch(() => {})
    return Number(/^HTTP\/1\.[01] (\d+)/.exec(answer.toString('latin1'))?.[1])
  } finally {
    socket.destroy()
  }
}

type Send = (url: string, headers: Record<string, string>) => Promise<number>

const clients: [string, Send][] = [
  ['fetch', async (url, headers) => (await fetch(url, { method: 'POST', headers, body })).status],
  [
    'fetch in pieces',
    async (url, headers) =>
      (
        await fetch(url, {
          method: 'POST',
          headers,
          body: ReadableStream.from(pieces()),
          duplex: 'half',
        } as RequestInit)
      ).status,
  ],
  [
    'undici',
    async (url, headers) => {
      const answer = await request(url, { method: 'POST', headers, body })
      await answer.body.dump()
      return answer.statusCode
    },
  ],
  ['a client that reads last', (url, headers) => patient(url, headers, '1.1')],
  ['one that closes', (url, headers) => patient(url, { ...headers, connection: 'close' }, '1.1')],
  ['one of HTTP/1.0', (url, headers) => patient(url, headers, '1.0')],
  ['curl', (url, headers) => curl(url, headers)],
  ['curl by HTTP/1.0', (url, headers) => curl(url, headers, '-0')],
]

const refusals: [string, string, Record<string, string>, number][] = [
  ['a body that is too large', '/req/login', { ...json, 'sec-fetch-site': 'same-origin' }, 413],
  ['a missing token', '/api/ai-req', json, 401],
  [
    'a wrong token',
    '/api/svc/v1/rooms',
    { 'content-type': 'application/vnd.api+json', authorization: 'Bearer x' },
    401,
  ],
  ['another kind of body', '/req/login', { 'content-type': 'text/xml', 'sec-fetch-site': 'same-origin' }, 415],
]

describe.for(clients)('%s', ([, send]) => {
  test.for(refusals)('hears why a body is refused while it is sent: %s', async ([, path, headers, status]) => {
    const statuses: unknown[] = []
    for (let tries = 0; tries < TRIES; tries++)
      statuses.push(await send(svc.url + path, headers).catch((error: Error) => error.cause ?? error))

    expect(statuses).toEqual(Array.from({ length: TRIES }, () => status))
  })
})
