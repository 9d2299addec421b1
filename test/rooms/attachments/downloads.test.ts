import { randomBytes } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { base, startJsonApi } from '../../kit/json-api/client.ts'
import { upload } from '../../kit/rooms/attachments.ts'
import { shareResource } from '../../kit/share-resource.ts'

/** Size of several stored chunks and a part of one. */
const bytes = Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(300_000)])

let address: string
let identifier: string
const svc = shareResource(startJsonApi)
beforeAll(async () => {
  const { one } = await upload(svc, svc.people.ada.token, bytes, { name: 'größe "1";\u2028.pdf' })
  address = `${base}/attachments/${one.id}/actions/download`
  identifier = String(one.attributes['identifier'])
})

async function get(headers: Record<string, string> = {}, method = 'GET', path = address) {
  const response = await svc.send(method, path, { token: svc.people.ada.token, headers })
  const { status, headers: got } = response
  const length = got.get('content-length')
  return {
    status,
    headers: got,
    length,
    range: got.get('content-range'),
    body: Buffer.from(await response.arrayBuffer()),
  }
}

test('a download is saved by browsers, never executed and never cached for others', async () => {
  for (const path of [address, `${base}/proxy/storage/${identifier}`, `/proxy/storage/${identifier}`]) {
    const { status, headers, body } = await get({ accept: 'image/*', 'accept-encoding': 'gzip, br' }, 'GET', path)

    expect([status, body.equals(bytes)]).toEqual([200, true])
    expect(Object.fromEntries(headers)).toMatchObject({
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'content-disposition': expect.stringMatching(
        /^attachment; filename="[^"\\]*(?:\\"[^"\\]*)*"; filename\*=UTF-8''gr%C3%B6%C3%9Fe/,
      ),
      'content-length': String(bytes.length),
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
      'content-type': 'application/pdf',
      'x-content-type-options': 'nosniff',
    })
    expect(headers.get('content-encoding')).toBeNull()
  }
})

const last = bytes.length - 1

test.for([
  ['bytes=0-0', 0, 0],
  ['bytes=0-', 0, last],
  ['bytes=100000-100099', 100_000, 100_099],
  ['bytes=65535-65536', 65_535, 65_536],
  ['Bytes=131072-131072', 131_072, 131_072],
  ['bytes=300000-99999999', 300_000, last],
  ['bytes=-1', last, last],
  ['bytes=-99999999', 0, last],
] as const)('of the range %s exactly its bytes are sent', async ([range, from, to]) => {
  const answer = await get({ range })

  expect([answer.status, answer.range]).toEqual([206, `bytes ${from}-${to}/${bytes.length}`])
  expect(answer.body.equals(bytes.subarray(from, to + 1))).toBe(true)
  expect(answer.length).toBe(String(to - from + 1))
})

test.for(['bytes=0-1,5-6', 'bytes=9-5', 'bytes=-', 'bytes=a-b', 'pages=1-2', 'bytes 0-1', ''])(
  'what is no single range is passed over: %s',
  async (range) => {
    const { status, body } = await get({ range })

    expect([status, body.length]).toEqual([200, bytes.length])
  },
)

test.for([`bytes=${bytes.length}-`, 'bytes=99999999-999999999', 'bytes=-0'])(
  'a range behind the end is refused with the size: %s',
  async (range) => {
    const { status, range: size, body } = await get({ range })

    expect([status, size]).toEqual([416, `bytes */${bytes.length}`])
    expect(JSON.parse(body.toString()).errors[0]).toMatchObject({
      code: 'range_not_satisfiable',
      source: { header: 'Range' },
    })
  },
)

test('a range is sent only of the file that the client has begun with', async () => {
  const etag = (await get()).headers.get('etag') ?? ''
  const status = async (ifRange: string) => (await get({ range: 'bytes=0-9', 'if-range': ifRange })).status

  expect(await status(etag)).toBe(206)
  for (const other of ['"other"', `W/${etag}`, 'Sun, 22 Nov 2026 09:00:00 GMT']) expect(await status(other)).toBe(200)
})

test('a download is answered with 304 only where the client has the file', async () => {
  const etag = (await get()).headers.get('etag') ?? ''

  expect(etag).toMatch(/^"[0-9a-f-]{36}"$/)
  expect(await get({ 'if-none-match': `"other", ${etag}` })).toMatchObject({ status: 304, body: Buffer.alloc(0) })
  expect((await get({ 'if-none-match': etag, range: 'bytes=0-1' })).status).toBe(304)
  expect((await get({ 'if-match': '"other"' })).status).toBe(412)
  expect((await get({ 'if-match': `W/${etag}` })).status).toBe(412)
  expect((await get({ 'if-match': etag })).status).toBe(200)
})

test('HEAD tells of a file what GET does, and sends nothing', async () => {
  const [head, whole] = [await get({ range: 'bytes=0-1' }, 'HEAD'), await get()]

  const pickHeaders = (headers: Headers) =>
    Object.fromEntries(
      [...headers].filter(([name]) => !['date', 'x-request-id', 'connection', 'keep-alive'].includes(name)),
    )
  expect([head.status, head.body.length]).toEqual([200, 0])
  expect(pickHeaders(head.headers)).toEqual(pickHeaders(whole.headers))
})

test.for([
  'group-00000000-0000-4000-8000-000000000000.pdf',
  'private-00000000-0000-4000-8000-000000000000',
  'group-..%2f..%2fetc%2fpasswd',
  'group-00000000-0000-4000-8000-00000000000%00',
  'nonsense',
])('an identifier of nothing gets nothing: %s', async (name) => {
  for (const path of [`${base}/proxy/storage/${name}`, `/proxy/storage/${name}`])
    expect([404, 400, 422]).toContain((await get({}, 'GET', path)).status)
})

/** Number of open files of the store, by the kernel. */
const openFiles = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(join(svc.folder, 'files'))
    } catch {
      return false
    }
  }).length

test('a client that goes away in the middle of a file leaves nothing open', async () => {
  const gone = new AbortController()
  const response = await fetch(svc.url + address, {
    headers: { authorization: `Bearer ${svc.people.ada.token}` },
    signal: gone.signal,
  })
  await response.body?.getReader().read()
  gone.abort()

  expect((await get()).status).toBe(200)
  await expect.poll(openFiles).toBe(0)
})

test('clients that go away before a file is sent leave nothing open', async () => {
  const { hostname, port } = new URL(svc.url)
  const request = `GET ${address} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${svc.people.ada.token}\r\n\r\n`
  for (let after = 0; after < 40; after++) {
    const socket = connect(Number(port), hostname)
    socket.write(request)
    await pause(after / 4)
    socket.destroy()
  }

  expect((await get()).status).toBe(200)
  await expect.poll(openFiles).toBe(0)
})

test('a file that is not in the store any more fails its download alone', async () => {
  const lost = await upload(svc, svc.people.ada.token, bytes, { name: 'lost.pdf' })
  const uuid = String(lost.one.attributes['uuid'])
  await rm(join(svc.folder, 'files/sealed', uuid.slice(0, 2), uuid))

  expect((await get({}, 'GET', `${base}/attachments/${lost.one.id}/actions/download`)).status).toBe(500)
  expect((await get()).status).toBe(200)
})
