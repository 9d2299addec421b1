import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { startApp } from '../../kit/app.ts'
import { cloneDatabase } from '../../kit/database.ts'
import { base } from '../../kit/json-api/client.ts'
import { type OnSent, startRelay } from '../../kit/parts/relay.ts'
import { startS3 } from '../../kit/parts/s3.ts'
import { openClient } from '../../kit/postgres-client.ts'
import { PNG } from '../../kit/rooms/attachments.ts'
import { readTokens } from '../../kit/service-client.ts'
import { createDataFolder, startProcess } from '../../kit/service-process.ts'

vi.setConfig({ testTimeout: 180_000 })

const places = ['on a disk', 'in a bucket'] as const
type Place = (typeof places)[number]

/** The settings of a storage; for a bucket `onSent` sees the requests to its server. */
async function openPlace(place: Place, folder: string, onSent: OnSent, resources: AsyncDisposableStack) {
  if (place === 'on a disk') return { settings: {}, directory: join(folder, 'files') }
  const { port, settings, directory } = resources.use(await startS3())
  const relay = resources.use(await startRelay(port, { onSent }))
  return { settings: { ...settings, S3_ENDPOINT: `http://127.0.0.1:${relay.port}` }, directory }
}

/** Starts a service as a process that is killed at a given statement or bucket request. */
async function startMortal(place: Place) {
  await using resources = new AsyncDisposableStack()
  const [database, folder] = [resources.use(await cloneDatabase()), resources.use(await createDataFolder())]
  let listener: OnSent | undefined
  const onSent: OnSent = (...piece) => listener?.(...piece)
  const url = new URL(database.url)
  const relay = resources.use(await startRelay(Number(url.port), { onSent }))
  url.host = `127.0.0.1:${relay.port}`
  const { settings, directory } = await openPlace(place, folder.path, onSent, resources)
  const started = { DATA_DIR: folder.path, PORT: '0', DATABASE_URL: url.href, ...settings }
  const service = resources.use(startProcess(started))
  const address = await service.ready()
  const [token = ''] = readTokens(service.output.out)
  const client = resources.use(await openClient(database.url))
  await client.query(`update access_tokens set abilities = '{read,write,user}'`)
  const kept = resources.move()
  return {
    base: `${address}${base}`,
    address: `${address}${base}/attachments`,
    headers: { authorization: `Bearer ${token}` },
    ended: service.ended,
    /** Kills the service once it has sent a matching statement, which the database receives or not. */
    killAt(word: RegExp, passOn: boolean, after = /^/) {
      let isNear = false
      listener = (piece) => {
        const text = piece.toString('latin1')
        isNear ||= after.test(text)
        if (!isNear || !word.test(text)) return undefined
        service.kill('SIGKILL')
        return passOn ? undefined : 'hold'
      }
    },
    kill: () => service.kill('SIGKILL'),
    files: () => filesIn(directory),
    rows: async () => (await client.query('select uuid from attachments')).rows.length,
    /** Starts the service again with a clock two hours later for the files, and sweeps. */
    async sweep() {
      listener = undefined
      const earlier = new Date(Date.now() - 2 * 60 * 60_000)
      for (const file of await filesIn(directory)) await utimes(file, earlier, earlier)
      await using svc = await startApp({ ...settings, DATABASE_URL: database.url, DATA_DIR: folder.path })
      return await svc.host.files.sweep()
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** The server of a bucket stores metadata beside each object. */
const filesIn = async (folder: string) => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter(
    (entry) => entry.isFile() && !/\._S3rver_(?:metadata\.json|object\.md5)$/.test(entry.name),
  )
  return files.map(({ parentPath, name }) => join(parentPath, name))
}

type Mortal = Awaited<ReturnType<typeof startMortal>>

async function upload({ address, headers }: Mortal, text = 'Hello') {
  const body = new FormData()
  body.append('file', new Blob([text]), 'a.txt')
  const response = await fetch(`${address}/actions/upload`, { method: 'POST', headers, body }).catch(() => undefined)
  return (await response?.json().catch(() => undefined)) as { data: { id: string } } | undefined
}

/** Sets the caller's picture; returns undefined without a response. */
async function setPicture({ base, headers }: Mortal) {
  const me = await fetch(`${base}/users/me`, { headers })
  const { data } = (await me.json()) as { data: { id: string } }
  const response = await fetch(`${base}/users/${data.id}`, {
    method: 'PATCH',
    headers: { ...headers, 'content-type': 'application/vnd.api+json' },
    body: JSON.stringify({ data: { type: 'users', id: data.id, attributes: { avatar: PNG.toString('base64') } } }),
  }).catch(() => undefined)
  return response?.status
}

describe.each(places)('%s', (place) => {
  test("a kill before a file's row is written leaves an orphan for the sweep", async () => {
    await using svc = await startMortal(place)
    svc.killAt(/insert into "attachments"/, false)

    expect(await upload(svc)).toBeUndefined()
    await svc.ended
    expect([(await svc.files()).length, await svc.rows()]).toEqual([1, 0])

    expect(await svc.sweep()).toEqual({ unlinked: 0, orphans: 1, pictures: 0 })
    expect(await svc.files()).toEqual([])
  })

  test('a kill during an upload leaves nothing that the next sweep misses', async () => {
    await using svc = await startMortal(place)
    const body = new ReadableStream({
      start(controller) {
        const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        controller.enqueue(Buffer.from(head + 'x'.repeat(200_000)))
      },
    })
    const headers = { ...svc.headers, 'content-type': 'multipart/form-data; boundary=b' }
    const sending = fetch(`${svc.address}/actions/upload`, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
    } as RequestInit)
    const failed = sending.catch(() => 'failed')
    // Only a disk shows the growing file.
    const isComing = async () => place === 'in a bucket' || (await svc.files()).length === 1
    await expect.poll(isComing, { timeout: 60_000 }).toBe(true)
    svc.kill()
    await svc.ended

    expect(await failed).toBe('failed')
    expect(await svc.rows()).toBe(0)
    expect(await svc.sweep()).toEqual({ unlinked: 0, orphans: place === 'in a bucket' ? 0 : 1, pictures: 0 })
    expect(await svc.files()).toEqual([])
  })

  test('a kill during the commit of a deletion leaves an orphan for the sweep', async () => {
    await using svc = await startMortal(place)
    const first = await upload(svc)
    svc.killAt(/commit/i, true, /delete from attachments/)

    await fetch(`${svc.address}/${first?.data.id}`, { method: 'DELETE', headers: svc.headers }).catch(() => {})
    await svc.ended
    await expect.poll(svc.rows).toBe(0)
    expect(await svc.files()).toHaveLength(1)

    expect(await svc.sweep()).toEqual({ unlinked: 0, orphans: 1, pictures: 0 })
    expect(await svc.files()).toEqual([])
  })

  test('a kill during the commit of an upload loses neither row nor file', async () => {
    await using svc = await startMortal(place)
    svc.killAt(/commit/i, true, /insert into "attachments"/)

    expect(await upload(svc)).toBeUndefined()
    await svc.ended
    await expect.poll(svc.rows).toBe(1)

    expect(await svc.sweep()).toEqual({ unlinked: 0, orphans: 0, pictures: 0 })
    expect([(await svc.files()).length, await svc.rows()]).toEqual([1, 1])
  })

  test("a kill before a picture's row is written leaves two orphans for the sweep", async () => {
    await using svc = await startMortal(place)
    svc.killAt(/update "users"/, false)

    expect(await setPicture(svc)).toBeUndefined()
    await svc.ended
    expect(await svc.files()).toHaveLength(2)
    expect(await svc.sweep()).toEqual({ unlinked: 0, orphans: 0, pictures: 1 })
    expect(await svc.files()).toEqual([])
  })

  test('a kill during the commit of a picture loses neither size', async () => {
    await using svc = await startMortal(place)
    svc.killAt(/commit/i, true, /update "users"/)

    expect(await setPicture(svc)).toBeUndefined()
    await svc.ended
    expect(await svc.sweep()).toEqual({ unlinked: 0, orphans: 0, pictures: 0 })
    expect(await svc.files()).toHaveLength(2)
  })
})

const steps = [
  ['before the second file of a picture reaches the bucket', false, 1],
  ['when the second file of a picture has reached the bucket', true, 2],
] as const

test.for(steps)('a service that is killed %s leaves what the next sweep removes', async ([, passOn, files]) => {
  await using svc = await startMortal('in a bucket')
  svc.killAt(/^PUT \S*-small\.webp/, passOn)

  expect(await setPicture(svc)).toBeUndefined()
  await svc.ended
  if (!passOn) expect(await svc.files()).toHaveLength(files)
  // The bucket may write what it has received a moment later, and a sweep leaves what is young.
  await expect.poll(() => svc.sweep()).toMatchObject({ orphans: 0, pictures: 1 })
  expect(await svc.files()).toEqual([])
})

test('a kill before a bucket object is deleted leaves it for the sweep', async () => {
  await using svc = await startMortal('in a bucket')
  const first = await upload(svc)
  svc.killAt(/^DELETE /, false)

  await fetch(`${svc.address}/${first?.data.id}`, { method: 'DELETE', headers: svc.headers }).catch(() => {})
  await svc.ended
  expect([(await svc.files()).length, await svc.rows()]).toEqual([1, 0])
  expect(await svc.sweep()).toEqual({ unlinked: 0, orphans: 1, pictures: 0 })
  expect(await svc.files()).toEqual([])
})
