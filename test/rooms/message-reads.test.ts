import { describe, expect, test } from 'vitest'
import { createClient } from '../../facades/client/index.ts'
import { idsOf, startJsonApi } from '../kit/json-api/client.ts'
import { addMember, createPerson, createRoom, type RoomPerson } from '../kit/rooms/messages.ts'
import { accept, invite } from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startJsonApi({ ROOM_MESSAGE_MAX_SIZE: '2000' }))

describe('who has read a message', () => {
  const fields = 'fields[room-messages]=number,readBy'
  const readsOf = ({ attributes }: { attributes: Record<string, unknown> }) => [
    attributes['number'],
    attributes['readBy'],
  ]
  const markRead = (by: RoomPerson, room: string, upTo: string) => by.post(`/rooms/${room}/actions/mark-read`, { upTo })

  test('is shown on request in lists, single messages and includes', async () => {
    const room = await createRoom(svc, ['editor', 'viewer'])
    const first = (await room.send()).one.id
    const reply = (await room.send(room.editor, {}, first)).one.id
    const [admin, editor, viewer] = [room.admin, room.editor, room.viewer].map(({ id }) => id)
    await markRead(room.viewer, room.id, first)
    const seenBy = async (by: RoomPerson) =>
      (await by.get(`/rooms/${room.id}/messages?sort=number&${fields}`)).list.map(readsOf)

    const ofFirst = [admin, viewer].toSorted((a = 0, b = 0) => a - b)
    expect(await seenBy(room.editor)).toEqual([
      ['1.000', ofFirst],
      ['1.001', [editor]],
    ])
    expect((await seenBy(room.viewer))[0]).toEqual(['1.000', [viewer, admin]])
    await markRead(room.viewer, room.id, reply)
    const one = await room.viewer.get(`/room-messages/${reply}?include=thread&${fields}`)
    expect([one.one, ...one.included].map(readsOf)).toEqual([
      ['1.001', [viewer, editor]],
      ['1.000', [viewer, admin]],
    ])
    expect(readsOf((await room.viewer.get(`/room-messages/${reply}/thread?${fields}`)).one)).toEqual([
      '1.000',
      [viewer, admin],
    ])
    const plain = await room.viewer.get(`/room-messages?include=thread`)
    for (const { attributes } of [...plain.list, ...plain.included]) expect(attributes).not.toHaveProperty('readBy')

    const { position } = await room.changes(room.admin)
    const [membership] = await svc.rows<{ id: number }>('select id from room_members where user_id = $1', [viewer])
    expect((await room.viewer.delete(`/room-members/${membership?.id}`)).status).toBe(200)
    expect(await seenBy(room.admin)).toEqual([
      ['1.000', [admin]],
      ['1.001', [editor]],
    ])
    const { changes } = await room.changes(room.admin, position)
    expect(changes.filter(({ kind }) => kind.startsWith('room-messages'))).toEqual([])
  })

  test('is hidden from strangers, and lists 200 people of a large room', async () => {
    const room = await createRoom(svc)
    const { one } = await room.send()
    const outsider = await createPerson(svc)
    for (const by of [outsider, svc.admin]) {
      expect((await by.get(`/room-messages/${one.id}?${fields}`)).status).toBe(404)
      expect(idsOf((await by.get(`/room-messages?${fields}`)).list)).not.toContain(one.id)
    }
    expect((await svc.guest.get(`/room-messages/${one.id}?${fields}`)).status).toBe(401)

    await svc.rows(
      `with people as (
         insert into users (username, email, name) select 'r' || n, 'r' || n, 'R' from generate_series(1, 300) n returning id
       ), members as (
         insert into room_members (room_id, user_id, role) select $1, id, 'viewer' from people
       ) insert into room_read_marks (user_id, room_id, up_to) select id, $1, $2 from people`,
      [room.id, one.id],
    )
    const last = await addMember(svc, room.id, 'viewer')
    await markRead(last, room.id, one.id)
    const readBy = (await last.get(`/room-messages/${one.id}?${fields}`)).one.attributes['readBy'] as number[]
    expect([readBy.length, readBy[0], new Set(readBy).size]).toEqual([200, last.id, 200])
    expect(readBy).toContain(room.admin.id)
  })

  test('excludes people who joined later or rejoined after reading', async () => {
    const room = await createRoom(svc)
    const late = await createPerson(svc)
    const enter = async () => {
      const invited = await invite(room.admin, room.id, late.id, 'viewer')
      const accepted = await accept(late, invited.one.id)
      expect(accepted.status).toBe(200)
      return accepted.one.id
    }
    const readers = async () =>
      (await room.admin.get(`/rooms/${room.id}/messages?sort=number&${fields}`)).list.map(readsOf)
    const admin = room.admin.id
    await room.send()
    const member = await enter()
    expect(await readers()).toEqual([['1.000', [admin]]])

    const { id } = (await room.send()).one
    await markRead(late, room.id, id)
    expect(await readers()).toEqual([
      ['1.000', [admin]],
      ['2.000', [admin, late.id]],
    ])

    expect((await late.delete(`/room-members/${member}`)).status).toBe(200)
    await enter()
    expect(await readers()).toEqual([
      ['1.000', [admin]],
      ['2.000', [admin]],
    ])
  })

  test('is no reason to refuse a change, though the answer has another entity tag', async () => {
    const room = await createRoom(svc, ['viewer'])
    const { id } = (await room.send()).one
    const path = `/room-messages/${id}?${fields}`
    const tag = async () => (await room.admin.get(path)).headers.get('etag') ?? ''
    const plain = (await room.admin.get(`/room-messages/${id}`)).headers.get('etag') ?? ''
    const before = await tag()
    await markRead(room.viewer, room.id, id)

    expect(await tag()).not.toBe(before)
    expect((await room.admin.get(path, { 'if-none-match': before })).status).toBe(200)
    expect((await room.admin.get(`/room-messages/${id}`, { 'if-none-match': plain })).status).toBe(304)
    const change = { data: { type: 'room-messages', id, attributes: { content: 'bmV3|bmV3|bmV3' } } }
    const send = (headers: Record<string, string>) => room.admin.send('PATCH', path, change, headers)
    const changed = await send({ 'if-match': before })
    expect([changed.status, readsOf(changed.one)]).toEqual([200, ['1.000', expect.arrayContaining([room.viewer.id])]])
    expect((await send({ 'if-match': before })).status).toBe(412)
  })
})

describe('POST /rooms/{id}/actions/mark-read', () => {
  const unreadOf = async (by: Awaited<ReturnType<typeof createPerson>>, room: string) =>
    (await by.get(`/rooms/${room}`)).one.attributes['unreadCount']

  test('marks all messages up to one as read, and never goes back', async () => {
    const room = await createRoom(svc, ['viewer', 'editor'])
    const sent = []
    for (let n = 0; n < 5; n++) sent.push((await room.send()).one.id)
    const mark = (upTo: unknown) => room.viewer.post(`/rooms/${room.id}/actions/mark-read`, { upTo })
    expect(await unreadOf(room.viewer, room.id)).toBe(5)

    expect((await mark(sent[2])).status).toBe(200)
    expect(await unreadOf(room.viewer, room.id)).toBe(2)
    expect((await mark(sent[0])).status).toBe(200)
    expect(await unreadOf(room.viewer, room.id)).toBe(2)
    expect([await unreadOf(room.editor, room.id), await unreadOf(room.admin, room.id)]).toEqual([5, 0])
    await room.send(room.viewer, {}).then(({ status }) => expect(status).toBe(403))
    expect((await mark(sent[4])).status).toBe(200)
    expect(await unreadOf(room.viewer, room.id)).toBe(0)
  })

  test('refuses a message that is not in the room', async () => {
    const room = await createRoom(svc)
    const { one } = await (await createRoom(svc)).send()

    for (const upTo of [one.id, '99999999'])
      expect((await room.admin.post(`/rooms/${room.id}/actions/mark-read`, { upTo })).status).toBe(404)
    expect((await room.admin.post(`/rooms/${room.id}/actions/mark-read`, {})).status).toBe(422)
  })

  test('is told to the room and to the other devices of the reader, once', async () => {
    const room = await createRoom(svc, ['viewer'])
    const { one } = await room.send()
    const { position } = await room.changes(room.viewer)
    const begin = (await room.viewer.get('/users/me/actions/changes')).meta['position']

    for (let n = 0; n < 2; n++) await room.viewer.post(`/rooms/${room.id}/actions/mark-read`, { upTo: one.id })

    expect((await room.changes(room.admin, position)).changes).toMatchObject([{ kind: 'room-members.updated' }])
    const own = await room.viewer.get(`/users/me/actions/changes?page[after]=${begin}`)
    expect(own.meta['changes']).toMatchObject([{ kind: 'rooms.updated', subject: room.id }])
  })
})

describe('rooms.markUnread', () => {
  const unreadOf = async (by: RoomPerson, room: string) =>
    (await by.get(`/rooms/${room}`)).one.attributes['unreadCount']
  const markRead = (by: RoomPerson, room: string, upTo: string) => by.post(`/rooms/${room}/actions/mark-read`, { upTo })
  const markUnread = (by: { token?: string }, id: string, from?: string) =>
    createClient({ url: svc.url, ...(by.token && { token: by.token }) }).rooms.markUnread.mutate({
      id,
      ...(from && { from }),
    })

  test('moves the mark back before a message, or before the last of others', async () => {
    const room = await createRoom(svc, ['editor'])
    const sent = []
    for (let n = 0; n < 4; n++) sent.push((await room.send()).one.id)
    const own = (await room.send(room.editor)).one.id
    await markRead(room.editor, room.id, own)

    await markUnread(room.editor, room.id)
    expect(await unreadOf(room.editor, room.id)).toBe(1)
    await markUnread(room.editor, room.id, sent[1])
    expect(await unreadOf(room.editor, room.id)).toBe(3)
    await markUnread(room.editor, room.id, sent[3])
    expect(await unreadOf(room.editor, room.id)).toBe(3)
    await markUnread(room.editor, room.id, sent[0])
    expect(await unreadOf(room.editor, room.id)).toBe(4)
    expect(await unreadOf(room.admin, room.id)).toBe(1)
    await markRead(room.editor, room.id, own)
    expect(await unreadOf(room.editor, room.id)).toBe(0)
  })

  test('never moves the mark to before the beginning of the membership', async () => {
    const room = await createRoom(svc)
    const [first] = [await room.send(), await room.send()].map(({ one }) => one.id)
    const late = await createPerson(svc)
    await accept(late, (await invite(room.admin, room.id, late.id, 'viewer')).one.id)
    const mark = () =>
      svc.rows('select starts_after - up_to as back from room_read_marks where user_id = $1', [late.id])

    await markUnread(late, room.id)
    await markUnread(late, room.id, first)
    expect(await mark()).toEqual([{ back: 0 }])

    await markRead(late, room.id, (await room.send()).one.id)
    await markUnread(late, room.id, first)
    expect(await mark()).toEqual([{ back: 0 }])
    expect(await unreadOf(late, room.id)).toBe(1)
  })

  test('is told to the room and to the other devices of the reader, once', async () => {
    const room = await createRoom(svc, ['viewer'])
    const { one } = await room.send()
    await markRead(room.viewer, room.id, one.id)
    const { position } = await room.changes(room.viewer)
    const begin = (await room.viewer.get('/users/me/actions/changes')).meta['position']

    for (let n = 0; n < 2; n++) await markUnread(room.viewer, room.id, one.id)

    expect((await room.changes(room.admin, position)).changes).toMatchObject([{ kind: 'room-members.updated' }])
    const own = await room.viewer.get(`/users/me/actions/changes?page[after]=${begin}`)
    expect(own.meta['changes']).toMatchObject([{ kind: 'rooms.updated', subject: room.id }])
  })

  test('is refused to guests, outsiders and former members, and for messages elsewhere', async () => {
    const room = await createRoom(svc, ['viewer'])
    const { one } = await room.send()
    const elsewhere = (await (await createRoom(svc)).send()).one.id
    await markRead(room.viewer, room.id, one.id)
    const marks = () => svc.rows('select user_id, up_to from room_read_marks where room_id = $1', [room.id])
    const before = await marks()

    await expect(markUnread(room.viewer, room.id, elsewhere)).rejects.toMatchObject({ status: 404 })
    for (const by of [await createPerson(svc), svc.people.admin])
      await expect(markUnread(by, room.id, one.id)).rejects.toMatchObject({ status: 404 })
    await expect(markUnread({}, room.id, one.id)).rejects.toMatchObject({ status: 401 })
    expect(await marks()).toEqual(before)

    const [membership] = await svc.rows<{ id: number }>('select id from room_members where user_id = $1', [
      room.viewer.id,
    ])
    await room.admin.delete(`/room-members/${membership?.id}`)
    await expect(markUnread(room.viewer, room.id, one.id)).rejects.toMatchObject({ status: 404 })
  })
})
