import { expect, test } from 'vitest'
import { base, startJsonApi } from '../../kit/json-api/client.ts'
import { download, listStoredFiles, PNG, sendAttachments, upload } from '../../kit/rooms/attachments.ts'
import { createPerson, createRoom } from '../../kit/rooms/messages.ts'
import { shareResource } from '../../kit/share-resource.ts'

const svc = shareResource(startJsonApi)

type Person = { token: string }

const kindOf = (uploaded: Awaited<ReturnType<typeof upload>>) => uploaded.one.attributes['mime']

/** Returns the statuses of all ways to access an attachment. */
async function waysTo(id: string, identifier: unknown, { token }: Partial<Person>) {
  const paths = [
    `${base}/attachments/${id}`,
    `${base}/attachments/${id}/actions/download`,
    `${base}/proxy/storage/${identifier}`,
    `/proxy/storage/${identifier}`,
  ]
  const answers = await Promise.all(paths.map((path) => svc.send('GET', path, { token })))
  return answers.map(({ status }) => status)
}

/** A room with a message of its editor that has one attachment. */
async function roomWithFile(bytes: Uint8Array | string = PNG) {
  const room = await createRoom(svc, ['editor', 'viewer'])
  const { one } = await upload(svc, room.editor.token, bytes)
  const message = await sendAttachments(room.editor, room.id, [one.id])
  return { ...room, file: one, message: message.one.id, uuid: String(one.attributes['uuid']) }
}

test('a file of a message is readable by the other members alone', async () => {
  const room = await createRoom(svc, ['editor', 'viewer'])
  const { status, one, location } = await upload(svc, room.editor.token, PNG, { name: 'Bild ä.png', type: 'text/html' })
  expect([status, one]).toMatchObject([
    201,
    {
      type: 'attachments',
      attributes: { name: 'Bild ä.png', mime: 'image/png', fileType: 'image', bytes: PNG.length, category: 'group' },
    },
  ])
  expect(location).toBe(`${base}/attachments/${one.id}`)
  expect(one.links['self']).toBe(location)
  const { identifier } = one.attributes
  expect(await waysTo(one.id, identifier, room.viewer)).toEqual([404, 404, 404, 404])

  const sent = await sendAttachments(room.editor, room.id, [one.id])
  expect(sent).toMatchObject({ status: 201, one: { attributes: { content: null } } })

  expect((await download(svc, room.viewer.token, one.id)).bytes.equals(PNG)).toBe(true)
  const read = await room.viewer.get(`/room-messages/${sent.one.id}?include=attachments`)
  expect(read.included).toMatchObject([{ type: 'attachments', id: one.id }])
  for (const member of [room.admin, room.editor, room.viewer])
    expect(await waysTo(one.id, identifier, member)).toEqual([200, 200, 200, 200])
  for (const stranger of [svc.people.bob, svc.people.admin])
    expect(await waysTo(one.id, identifier, stranger)).toEqual([404, 404, 404, 404])
  expect(await waysTo(one.id, identifier, {})).toEqual([401, 401, 401, 401])
})

test('a member who is removed gets the files of others no more, at once', async () => {
  const room = await roomWithFile()
  const [{ id: membership } = { id: '' }] = await svc.rows<{ id: string }>(
    'select id::text from room_members where room_id = $1 and user_id = $2',
    [room.id, room.viewer.id],
  )

  const before = await waysTo(room.file.id, room.file.attributes['identifier'], room.viewer)
  await room.admin.delete(`/room-members/${membership}`)

  expect(before).toEqual([200, 200, 200, 200])
  expect(await waysTo(room.file.id, room.file.attributes['identifier'], room.viewer)).toEqual([404, 404, 404, 404])
  expect((await room.viewer.get('/attachments')).list).toEqual([])
})

test('a list of attachments has the own ones and those of the own rooms', async () => {
  const room = await roomWithFile()
  const own = await upload(svc, room.viewer.token, 'mine')

  const { list, total } = await room.viewer.get('/attachments?include=uploader,message')

  expect(list.map(({ id }) => id)).toEqual([room.file.id, own.one.id])
  expect(total).toBe(2)
})

test('a read-only token neither uploads nor deletes, and a write-only one never downloads', async () => {
  const { file } = await roomWithFile()
  const tokenWith = async (ability: 'read' | 'write') => (await svc.user({ abilities: [ability] })).token

  expect((await upload(svc, await tokenWith('read'), 'x')).status).toBe(403)
  expect((await upload(svc, undefined, 'x')).status).toBe(401)
  expect((await download(svc, await tokenWith('write'), file.id)).status).toBe(403)
  expect((await svc.send('DELETE', `${base}/attachments/${file.id}`, { token: await tokenWith('read') })).status).toBe(
    403,
  )
})

test('only its uploader sends a message with a file, and only one', async () => {
  const room = await createRoom(svc, ['editor'])
  const { one } = await upload(svc, room.editor.token, 'once')

  const foreign = await sendAttachments(room.admin, room.id, [one.id])
  const both = await Promise.all([1, 2].map(() => sendAttachments(room.editor, room.id, [one.id])))
  const again = await sendAttachments(room.editor, room.id, [one.id], { content: 'aQ==|dA==|Yw==' })

  expect(foreign).toMatchObject({
    status: 404,
    errors: [{ source: { pointer: '/data/relationships/attachments/data/0' } }],
  })
  expect(both.map(({ status }) => status).sort()).toEqual([201, 404])
  expect(again.status).toBe(404)
  expect((await room.admin.get(`/rooms/${room.id}/messages`)).list).toHaveLength(1)
})

test('a message repeated with its client id keeps its number and attachments', async () => {
  const room = await createRoom(svc)
  const { one } = await upload(svc, room.admin.token, 'once')
  const send = () => sendAttachments(room.admin, room.id, [one.id], { clientId: 'c1' })

  const [first, second] = [await send(), await send()]

  expect([first.status, second.status, second.one.id]).toEqual([201, 201, first.one.id])
})

test('a message needs text or an attachment, and has a maximum of attachments', async () => {
  await using few = await startJsonApi({ MAX_ATTACHMENT_FILES: '1' })
  const room = await createRoom(few)
  const ids = await Promise.all(['a', 'b'].map(async (text) => (await upload(few, room.admin.token, text)).one.id))

  expect(await sendAttachments(room.admin, room.id, [])).toMatchObject({
    status: 422,
    errors: [{ source: { pointer: '/data/attributes' } }],
  })
  expect((await sendAttachments(room.admin, room.id, ids)).status).toBe(422)
  const sent = await sendAttachments(room.admin, room.id, ids.slice(0, 1), { content: 'aQ==|dA==|Yg==' })
  expect(sent.status).toBe(201)
  expect((await room.admin.update('room-messages', sent.one.id, { content: 'aQ==|dA==|Yw==' })).status).toBe(200)
  expect((await room.admin.update('room-messages', sent.one.id, { content: null })).status).toBe(422)
})

test('an attachment is deleted with its file by its uploader or an administrator', async () => {
  for (const by of ['editor', 'admin'] as const) {
    const room = await roomWithFile()
    expect(await listStoredFiles(svc)).toContain(room.uuid)

    expect((await room.viewer.delete(`/attachments/${room.file.id}`)).status).toBe(403)
    expect((await svc.bob.delete(`/attachments/${room.file.id}`)).status).toBe(404)
    expect((await room[by].delete(`/attachments/${room.file.id}`)).status).toBe(200)

    expect(await listStoredFiles(svc)).not.toContain(room.uuid)
    // The message had no other content.
    expect((await room.viewer.get(`/room-messages/${room.message}`)).one.attributes['deletedAt']).not.toBeNull()
    expect((await room.changes(room.viewer)).position).toBeDefined()
  }
})

test.for([
  ['a message is deleted', (room: Room) => room.editor.delete(`/room-messages/${room.message}`)],
  ['a room is deleted', (room: Room) => room.admin.delete(`/rooms/${room.id}`)],
  ['the uploader is erased', (room: Room) => svc.admin.delete(`/users/${room.editor.id}`)],
] as const)('the files go when %s', async ([, remove]) => {
  const room = await roomWithFile()

  expect((await remove(room)).status).toBe(200)

  expect(await listStoredFiles(svc)).not.toContain(room.uuid)
  expect(await svc.rows('select from attachments where uuid = $1', [room.uuid])).toEqual([])
})

type Room = Awaited<ReturnType<typeof roomWithFile>>

test('the files go when the last person of a room leaves it', async () => {
  const room = await createRoom(svc)
  const { one } = await upload(svc, room.admin.token, PNG)
  await sendAttachments(room.admin, room.id, [one.id])
  const [{ id } = { id: '' }] = await svc.rows<{ id: string }>(
    'select id::text from room_members where room_id = $1 and user_id = $2',
    [room.id, room.admin.id],
  )

  expect((await room.admin.delete(`/room-members/${id}`)).status).toBe(200)

  expect(await listStoredFiles(svc)).not.toContain(one.attributes['uuid'])
})

test('ciphertext of a browser is stored as it is, without type detection', async () => {
  const { token } = await createPerson(svc)
  const bytes = Buffer.concat([PNG, Buffer.from([0, 1, 2])])

  const encrypted = await upload(svc, token, bytes, { fields: { clientEncrypted: 'true' }, name: 'ZmlsZQ' })
  const plain = await upload(svc, token, Buffer.from([0, 1, 2]))

  expect(encrypted.one.attributes).toMatchObject({
    clientEncrypted: true,
    mime: 'application/octet-stream',
    fileType: 'other',
    bytes: bytes.length,
  })
  expect((await download(svc, token, encrypted.one.id)).bytes.equals(bytes)).toBe(true)
  expect(plain.status).toBe(415)
})

test('an attachment without a message is deleted after an hour with its file', async () => {
  const { token } = await createPerson(svc)
  const [old, fresh] = [await upload(svc, token, 'old'), await upload(svc, token, 'fresh')]
  const linked = await roomWithFile()
  await svc.rows(`update attachments set created_at = now() - interval '61 minutes' where id = any($1)`, [
    [old.one.id, linked.file.id],
  ])

  const swept = await svc.host.files.sweep()

  expect(swept.unlinked).toBe(1)
  const kept = await listStoredFiles(svc)
  expect(kept).not.toContain(old.one.attributes['uuid'])
  expect(kept).toEqual(expect.arrayContaining([fresh.one.attributes['uuid'], linked.uuid]))
})

test('the kind of a file is that of its bytes, whatever it is called', async () => {
  const { token } = await createPerson(svc)
  const kinds = {
    'text/plain': ['Hello', '#!/bin/sh\necho', 'GIF89a=1;alert(1)//', 'MZ is not a program', '\ufeffBOM', 'größer'],
    'text/csv': ['a,b\n1,2\n3,4\n', 'a;"b;c"\r\n1;2\r\n'],
    'text/html': ['<!DOCTYPE html><script>alert(1)</script>', '\n<html></html>'],
    'image/svg+xml': [
      '<svg onload="alert(1)"></svg>',
      '<?xml version="1.0"?>\n<svg></svg>',
      '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "a>b"><svg/>',
      `<!-- ${'-'.repeat(20_000)} --><!DOCTYPE s [<!ENTITY a "]>"> <!-- ' -->]>\n<s:svg xmlns:s="x"/>`,
    ],
    'application/xml': ['<?xml version="1.0"?><a><svg></svg></a>'],
    'application/pdf': ['%PDF-1.7\n%text alone'],
    'application/rtf': ['{\\rtf1 Hello}'],
  }

  for (const [kind, texts] of Object.entries(kinds))
    for (const text of texts)
      expect([text, kindOf(await upload(svc, token, text, { name: 'a.png' }))]).toEqual([text, kind])
  expect(kindOf(await upload(svc, token, utf16('Hi')))).toBe('text/plain')
  expect(kindOf(await upload(svc, token, Buffer.from('gr\xf6\xdfer', 'latin1')))).toBe('text/plain')
})

test('a file that begins as text and becomes binary is refused in any encoding', async () => {
  const { token } = await createPerson(svc)
  const long = 'Nothing to see here. '.repeat(10_000)
  const program = Buffer.from('MZ\x90\0\x03', 'latin1')
  const begun = [Buffer.from(long), utf16(long), Buffer.from(`<svg>${long}`), Buffer.from(`a;b\n${long};c\n`)]

  for (const start of [...begun, ...begun.map((text) => text.subarray(0, 10_000))]) {
    const { status, errors } = await upload(svc, token, Buffer.concat([start, program]))
    expect([status, errors[0]?.code]).toEqual([415, 'unsupported_media_type'])
  }
  const umlautsAtLast = Buffer.concat([Buffer.from(long), Buffer.from('gr\xf6\xdfer', 'latin1')])
  expect(kindOf(await upload(svc, token, umlautsAtLast))).toBe('text/plain')
  expect(kindOf(await upload(svc, token, utf16(`${long} größer`)))).toBe('text/plain')
})

const utf16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])
