import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readEnv } from '../../server/config/env.ts'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { findCheck, getHealth } from '../kit/health.ts'
import { APP_KEY } from '../kit/identity/sessions.ts'
import { base, startJsonApi } from '../kit/json-api/client.ts'
import { startS3 } from '../kit/parts/s3.ts'
import { download, listStoredFiles, PNG, upload } from '../kit/rooms/attachments.ts'
import { shareResource } from '../kit/share-resource.ts'

const server = shareResource(startS3)
const provider = shareResource(() => startProvider(answers('A dot.')))
const config = shareResource(() => {
  const model = { input: ['text', 'image'] }
  return writeConfig(provider.url, { provider: { circuit: { failures: 1 } }, model })
})
const svc = shareResource(() =>
  startJsonApi({ ...server.settings, APP_KEY, HEALTH_DEEP_EVERY: '1', AI_CONFIG: config.file }),
)

test('an uploaded file lies encrypted in the bucket, and is downloaded whole or partly', async () => {
  const bytes = `Words. ${randomBytes(200_000).toString('hex')}`
  const before = await listStoredFiles(svc)
  const { one } = await upload(svc, svc.people.ada.token, bytes)
  const added = (await listStoredFiles(svc)).filter((name) => !before.includes(name))

  expect(added).toHaveLength(1)
  expect(one.attributes).toMatchObject({ uuid: added[0], bytes: bytes.length })
  expect(await readdir(join(svc.folder, 'files')).catch(() => [])).toEqual([])
  expect((await download(svc, svc.people.ada.token, one.id)).bytes.toString()).toBe(bytes)
  const part = await download(svc, svc.people.ada.token, one.id, { range: 'bytes=100000-100009' })
  expect([part.status, part.bytes.toString()]).toEqual([206, bytes.slice(100_000, 100_010)])
  expect((await download(svc, svc.people.bob.token, one.id)).status).toBe(404)

  await svc.ada.delete(`/attachments/${one.id}`)
  expect(await listStoredFiles(svc)).toEqual(before)
})

test('a file from one machine is read and deleted by another through the bucket', async () => {
  const { AI_CONFIG: models, DATABASE_URL: database } = svc.env
  const own = { AI_CONFIG: String(models), DATABASE_URL: String(database) }
  const shared = { ...server.settings, ...own, APP_KEY }
  await using other = await startApp(shared)
  const { token } = svc.people.ada
  const before = await listStoredFiles(svc)
  const { one } = await upload(svc, token, 'on every machine')

  expect((await download(other, token, one.id)).bytes.toString()).toBe('on every machine')

  const deleted = await other.send('DELETE', `${base}/attachments/${one.id}`, { token })
  expect(deleted.status).toBe(200)
  expect(await listStoredFiles(svc)).toEqual(before)
  expect((await download(svc, token, one.id)).status).toBe(404)
})

test('while the bucket is down, uploads and downloads fail without leaving anything behind', async () => {
  const { one } = await upload(svc, svc.people.ada.token, 'kept')
  const attachments = () => svc.rows('select id from attachments order by id')
  const before = await attachments()
  expect(findCheck(await getHealth(svc), 'storage')).toMatchObject({ status: 'ok' })
  await server.stop()
  const [down, report] = [await upload(svc, svc.people.ada.token, 'lost'), await getHealth(svc)]
  const unread = await download(svc, svc.people.ada.token, one.id)
  await server.start()

  expect([down.status, down.errors[0]?.code, unread.status]).toEqual([503, 'unavailable', 503])
  expect(report.code).toBe(503)
  expect(findCheck(report, 'storage')).toEqual({ name: 'storage', status: 'error', message: expect.any(String) })
  expect(JSON.stringify(report)).not.toContain(String(server.port))
  expect(await attachments()).toEqual(before)
  expect(await readdir(join(svc.folder, 'cache'))).toEqual([])
  expect((await download(svc, svc.people.ada.token, one.id)).bytes.toString()).toBe('kept')
  expect((await upload(svc, svc.people.ada.token, 'again')).status).toBe(201)
  expect(findCheck(await getHealth(svc), 'storage')).toMatchObject({ status: 'ok' })
})

test("a model gets files from the bucket, whose outage is not its provider's fault", async () => {
  const { token } = svc.people.ada
  const picture = Buffer.concat([PNG, randomBytes(200_000)])
  const { one } = await upload(svc, token, picture, { name: 'dot.png' })
  const content = [{ type: 'file', file: { file_id: one.id } }]
  const body = { model: 'mock-1', messages: [{ role: 'user', content }] }
  const sendQuestion = () => svc.send('POST', '/v1/chat/completions', { token, body })

  const first = await sendQuestion()
  await server.stop()
  const second = await sendQuestion()
  await server.start()
  const third = await sendQuestion()

  expect([first.status, second.status, third.status]).toEqual([200, 503, 200])
  expect(await second.json()).toMatchObject({ error: { code: 'unavailable' } })
  const sent = provider.requests.map((request) => request.sent.includes(picture.toString('base64')))
  expect([sent, provider.broken]).toEqual([[true, true], 1])
})

test('a service on a bucket does not start without what it needs for it', () => {
  const start = (settings: Record<string, string>) => () => readEnv({ STORAGE_DISK: 's3', ...settings })

  expect(start({})).toThrow(/S3_DEFAULT_BUCKET: is required.*S3_ACCESS_KEY: is required.*S3_SECRET_KEY: is required/s)
  const { settings } = server
  expect(start({ ...settings, NODE_ENV: 'production', S3_SECRET_KEY: 'changeme' })).toThrow(
    'S3_SECRET_KEY: is a placeholder',
  )
  expect(start({ ...settings, S3_ENDPOINT: 'storage.example.org' })).toThrow(
    'S3_ENDPOINT=storage.example.org: must begin',
  )
  expect(start({ ...settings, S3_DEFAULT_BUCKET: 'a/b' })).toThrow('must be the name of a bucket')
  expect(start({ STORAGE_DISK: 'nextcloud' })).toThrow('STORAGE_DISK=nextcloud: must be one of')
})
