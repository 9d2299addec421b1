import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { startApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { base } from '../kit/json-api/client.ts'
import { type OnSent, startRelay } from '../kit/parts/relay.ts'
import { openClient } from '../kit/postgres-client.ts'
import { dataFolder, startProcess } from '../kit/service-process.ts'
import { tokensIn } from '../kit/started.ts'

vi.setConfig({ testTimeout: 180_000 })

/** A service as a process of its own, which dies at what it says to its database. */
async function startMortal() {
  await using resources = new AsyncDisposableStack()
  const [database, folder] = [resources.use(await cloneDatabase()), resources.use(await dataFolder())]
  let onSent: OnSent | undefined
  const url = new URL(database.url)
  const relay = resources.use(await startRelay(Number(url.port), { onSent: (...piece) => onSent?.(...piece) }))
  url.host = `127.0.0.1:${relay.port}`
  const service = resources.use(startProcess({ DATA_DIR: folder.path, PORT: '0', DATABASE_URL: url.href }))
  const address = await service.ready()
  const [token = ''] = tokensIn(service.said.out)
  const client = resources.use(await openClient(database.url))
  await client.query(`update access_tokens set abilities = '{read,write}'`)
  const kept = resources.move()
  return {
    address: `${address}${base}/attachments`,
    headers: { authorization: `Bearer ${token}` },
    ended: service.ended,
    /** Kills the service once it has said something, and passes that on to the database, or not. */
    killAt(word: RegExp, passOn: boolean, after = /^/) {
      let isNear = false
      onSent = (piece) => {
        const said = piece.toString('latin1')
        isNear ||= after.test(said)
        if (!isNear || !word.test(said)) return undefined
        service.kill('SIGKILL')
        return passOn ? undefined : 'hold'
      }
    },
    kill: () => service.kill('SIGKILL'),
    files: () => filesIn(folder.path),
    rows: async () => (await client.query('select uuid from attachments')).rows.length,
    /** Starts the service anew two hours later, as far as the files can tell, and sweeps. */
    async sweep() {
      const earlier = new Date(Date.now() - 2 * 60 * 60_000)
      for (const file of await filesIn(folder.path)) await utimes(file, earlier, earlier)
      await using svc = await startApp({ DATABASE_URL: database.url, DATA_DIR: folder.path })
      return await svc.host.files.sweep()
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

const filesIn = async (folder: string) => {
  const entries = await readdir(join(folder, 'files/sealed'), { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}

type Mortal = Awaited<ReturnType<typeof startMortal>>

async function upload({ address, headers }: Mortal, text = 'Hello') {
  const body = new FormData()
  body.append('file', new Blob([text]), 'a.txt')
  const response = await fetch(`${address}/actions/upload`, { method: 'POST', headers, body }).catch(() => undefined)
  return (await response?.json().catch(() => undefined)) as { data: { id: string } } | undefined
}

test('a service that is killed before the row of a file is written leaves a file that the next sweep removes', async () => {
  await using svc = await startMortal()
  svc.killAt(/insert into "attachments"/, false)

  expect(await upload(svc)).toBeUndefined()
  await svc.ended
  expect([(await svc.files()).length, await svc.rows()]).toEqual([1, 0])

  expect(await svc.sweep()).toEqual({ unlinked: 0, orphans: 1, pictures: 0 })
  expect(await svc.files()).toEqual([])
})

test('a service that is killed while a file comes in leaves a part of it that the next sweep removes', async () => {
  await using svc = await startMortal()
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
  await expect.poll(async () => (await svc.files()).length, { timeout: 20_000 }).toBe(1)
  svc.kill()
  await svc.ended

  expect(await failed).toBe('failed')
  expect(await svc.rows()).toBe(0)
  expect(await svc.sweep()).toEqual({ unlinked: 0, orphans: 1, pictures: 0 })
  expect(await svc.files()).toEqual([])
})

test('a service that is killed when it commits a deletion leaves a file that the next sweep removes', async () => {
  await using svc = await startMortal()
  const first = await upload(svc)
  svc.killAt(/commit/i, true, /delete from attachments/)

  await fetch(`${svc.address}/${first?.data.id}`, { method: 'DELETE', headers: svc.headers }).catch(() => {})
  await svc.ended
  await expect.poll(svc.rows).toBe(0)
  expect(await svc.files()).toHaveLength(1)

  expect(await svc.sweep()).toEqual({ unlinked: 0, orphans: 1, pictures: 0 })
  expect(await svc.files()).toEqual([])
})

test('a service that is killed when it commits an upload has both the attachment and its file', async () => {
  await using svc = await startMortal()
  svc.killAt(/commit/i, true, /insert into "attachments"/)

  expect(await upload(svc)).toBeUndefined()
  await svc.ended
  await expect.poll(svc.rows).toBe(1)

  expect(await svc.sweep()).toEqual({ unlinked: 0, orphans: 0, pictures: 0 })
  expect([(await svc.files()).length, await svc.rows()]).toEqual([1, 1])
})
