import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type JsonApiApp, startJsonApi } from '../kit/json-api/client.ts'
import { download, PNG, sendWith, storedFiles, upload } from '../kit/rooms/attachments.ts'
import { newRoom } from '../kit/rooms/messages.ts'

let svc: JsonApiApp
beforeAll(async () => {
  svc = await startJsonApi()
})
afterAll(() => svc[Symbol.asyncDispose]())

test('a file that is sent with a message is there for the other members, and for nobody else', async () => {
  const room = await newRoom(svc, ['editor', 'viewer'])
  const { status, one } = await upload(svc, room.editor.token, PNG, { name: 'Bild ä.png', type: 'text/html' })
  expect({ status, one }).toMatchObject({
    status: 200,
    one: {
      type: 'attachments',
      attributes: { name: 'Bild ä.png', mime: 'image/png', fileType: 'image', bytes: PNG.length, category: 'group' },
    },
  })

  expect((await download(svc, room.viewer.token, one.id)).status).toBe(404)
  const sent = await sendWith(room.editor, room.id, [one.id])
  expect(sent).toMatchObject({ status: 201, one: { attributes: { content: null } } })

  const got = await download(svc, room.viewer.token, one.id)
  expect(got.status).toBe(200)
  expect(got.bytes.equals(PNG)).toBe(true)
  const read = await room.viewer.get(`/room-messages/${sent.one.id}?include=attachments`)
  expect(read.included).toMatchObject([{ type: 'attachments', id: one.id }])
  expect((await download(svc, svc.people.bob.token, one.id)).status).toBe(404)
  expect((await download(svc, svc.people.admin.token, one.id)).status).toBe(404)
  expect((await download(svc, undefined, one.id)).status).toBe(401)
})

test('what is stored is ciphertext, of which each byte counts', async () => {
  const bytes = Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(300_000)])
  const { one } = await upload(svc, svc.people.ada.token, bytes, { name: 'a.pdf' })

  const got = await download(svc, svc.people.ada.token, one.id)
  expect(got.bytes.equals(bytes)).toBe(true)
  const part = await download(svc, svc.people.ada.token, one.id, { range: 'bytes=65530-200000' })
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 65530-200000/${bytes.length}`])
  expect(part.bytes.equals(bytes.subarray(65_530, 200_001))).toBe(true)
  expect(await storedFiles(svc)).toContain(one.attributes['uuid'])
})
