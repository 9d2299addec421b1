// @module-tag debian

import { describe, expect, test } from 'vitest'
import { idsOf, pointersOf, startJsonApi, toOne } from '../kit/json-api/client.ts'
import { addMember, CIPHERTEXT, createPerson, createRoom } from '../kit/rooms/messages.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startJsonApi({ ROOM_MESSAGE_MAX_SIZE: '2000' }))

const numberOf = ({ one }: { one: { attributes: Record<string, unknown> } }) => one.attributes['number']

const numbersOf = ({ list }: { list: { attributes: Record<string, unknown> }[] }) =>
  list.map(({ attributes }) => attributes['number'])

describe('a message', () => {
  test('gets the next number of its room, and shows what was sent', async () => {
    const room = await createRoom(svc)
    const other = await createRoom(svc)

    const first = await room.send(room.admin, { keyEpoch: 0, clientId: 'c-1' })
    const second = await room.send()
    const elsewhere = await other.send()

    expect([first.status, first.headers.get('location')]).toEqual([201, `/api/svc/v1/room-messages/${first.one.id}`])
    expect(first.one.attributes).toEqual({
      number: '1.000',
      content: CIPHERTEXT,
      keyEpoch: 0,
      clientId: 'c-1',
      model: null,
      metadata: null,
      replyCount: 0,
      editedAt: null,
      deletedAt: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect(first.one.relationships?.['room']?.data).toEqual({ type: 'rooms', id: room.id })
    expect([second, elsewhere].map(numberOf)).toEqual(['2.000', '1.000'])
  })

  test('is answered as it is read, with the version that an update requires', async () => {
    const room = await createRoom(svc)
    const root = await room.send()
    const reply = await room.send(room.admin, {}, root.one.id)

    for (const sent of [reply, await room.send(room.admin, { clientId: 'c-1' })]) {
      const read = await room.admin.get(`/room-messages/${sent.one.id}`)
      expect(sent.one).toEqual(read.one)
      const version = { 'if-match': sent.headers.get('etag') ?? '' }
      const data = { type: 'room-messages', id: sent.one.id, attributes: { content: CIPHERTEXT.toUpperCase() } }
      const edit = () => room.admin.send('PATCH', `/room-messages/${sent.one.id}`, { data }, version)
      expect([(await edit()).status, (await edit()).status]).toEqual([200, 412])
    }
  })

  test('is a reply to one of its room, and never to a reply', async () => {
    const room = await createRoom(svc)
    const { one: first } = await room.send()
    const elsewhere = await (await createRoom(svc)).send()

    const replies = [await room.send(room.admin, {}, first.id), await room.send(room.admin, {}, first.id)]
    const next = await room.send()

    expect([...replies, next].map(numberOf)).toEqual(['1.001', '1.002', '2.000'])
    expect(replies[0]?.one.relationships?.['thread']?.data).toEqual({ type: 'room-messages', id: first.id })
    expect((await room.admin.get(`/room-messages/${first.id}`)).one.attributes['replyCount']).toBe(2)
    for (const thread of [replies[0]?.one.id, elsewhere.one.id, '99999999']) {
      const refused = await room.send(room.admin, {}, thread)
      expect([refused.status, pointersOf(refused)]).toEqual([404, ['/data/relationships/thread/data']])
    }
    const list = await room.admin.get(`/room-messages/${first.id}/replies?sort=-number`)
    expect([numbersOf(list), list.total]).toEqual([['1.002', '1.001'], 2])
  })

  test('is numbered and sorted as numbers are, with threads that have no limit', async () => {
    const room = await createRoom(svc)
    for (let n = 0; n < 11; n++) await room.send()
    const { list } = await room.admin.get(`/rooms/${room.id}/messages`)
    await svc.rows(
      `insert into room_messages (room_id, member_id, thread_id, seq, sub_seq, ordinal, content, key_epoch)
       select room_id, member_id, id, seq, n, 11 + n, 'x', 0 from room_messages, generate_series(1, 1000) n where id = $1`,
      [list[1]?.id],
    )

    expect(numberOf(await room.send(room.admin, {}, list[1]?.id))).toBe('2.1001')
    expect(numberOf(await room.send())).toBe('12.000')
    const newest = await room.admin.get(`/rooms/${room.id}/messages?sort=-number&page[size]=3`)
    expect([numbersOf(newest), newest.total]).toEqual([['12.000', '11.000', '10.000'], 1013])
    const thread = await room.admin.get(`/room-messages/${list[1]?.id}/replies?sort=-number&page[size]=3`)
    expect([numbersOf(thread), thread.total]).toEqual([['2.1001', '2.1000', '2.999'], 1001])
    expect((await room.admin.get('/room-messages?page[size]=1')).total).toBe(1013)
  })

  test('that is repeated with its client id is the first one', async () => {
    const room = await createRoom(svc, ['editor'])
    const { position } = await room.changes(room.admin)
    const first = await room.send(room.editor, { clientId: 'again' })

    const repeated = await Promise.all(
      Array.from({ length: 5 }, () => room.send(room.editor, { clientId: 'again', content: 'eA==|eA==|eA==' })),
    )
    const ofAnother = await room.send(room.admin, { clientId: 'again' })

    expect(repeated.map(({ status, one }) => [status, one.id, one.attributes['content']])).toEqual(
      repeated.map(() => [201, first.one.id, CIPHERTEXT]),
    )
    expect(numberOf(ofAnother)).toBe('2.000')
    expect((await room.changes(room.admin, position)).changes.map(({ subject }) => subject)).toEqual(
      idsOf([first.one, ofAnother.one]),
    )
  })

  test('that is sent again with an Idempotency-Key is one message', async () => {
    const room = await createRoom(svc)
    const body = {
      data: {
        type: 'room-messages',
        attributes: { content: CIPHERTEXT },
        relationships: { room: toOne('rooms', room.id) },
      },
    }
    const send = () => room.admin.send('POST', '/room-messages', body, { 'idempotency-key': `k-${room.id}` })

    const [first, again] = [await send(), await send()]

    expect([first.status, again.status, again.one.id]).toEqual([201, 201, first.one.id])
    expect((await room.admin.get(`/rooms/${room.id}/messages`)).total).toBe(1)
  })

  test.for([
    ['', 'content'],
    ['only text', 'content'],
    ['a|b', 'content'],
    ['a|b|c|d', 'content'],
    [`aXY=|dGFn|${'A'.repeat(2000)}`, 'content'],
    [null, 'content'],
  ])('with the content %j is refused', async ([content, member]) => {
    const room = await createRoom(svc)
    const refused = await room.send(room.admin, { content })

    expect([refused.status, pointersOf(refused)]).toEqual([422, [`/data/attributes/${member}`]])
  })

  test('in a key epoch that the room does not have is refused', async () => {
    const room = await createRoom(svc)

    for (const keyEpoch of [1, -1, 0.5]) {
      const refused = await room.send(room.admin, { keyEpoch })
      expect([refused.status, pointersOf(refused)]).toEqual([422, ['/data/attributes/keyEpoch']])
    }
  })

  test('is changed by its author alone, and says when', async () => {
    const room = await createRoom(svc, ['editor'])
    const { one } = await room.send(room.editor)
    const change = { content: 'bmV3|bmV3|bmV3' }

    const edited = await room.editor.update('room-messages', one.id, change)

    expect([edited.status, edited.one.attributes['content'], edited.one.attributes['editedAt']]).toEqual([
      200,
      'bmV3|bmV3|bmV3',
      expect.any(String),
    ])
    expect((await room.admin.update('room-messages', one.id, change)).status).toBe(403)
  })

  test('that is deleted leaves its place, with nothing in it', async () => {
    const room = await createRoom(svc, ['editor'])
    const { one } = await room.send(room.editor)
    await room.send(room.admin, {}, one.id)

    const deleted = [
      await room.editor.delete(`/room-messages/${one.id}`),
      await room.admin.delete(`/room-messages/${one.id}`),
    ]

    expect(deleted.map(({ status }) => status)).toEqual([200, 200])
    const { list, total } = await room.admin.get(`/rooms/${room.id}/messages?sort=number`)
    expect(
      list.map(({ attributes }) => [attributes['number'], attributes['content'], attributes['deletedAt']]),
    ).toEqual([
      ['1.000', null, expect.any(String)],
      ['1.001', CIPHERTEXT, null],
    ])
    expect(total).toBe(2)
    expect((await room.editor.update('room-messages', one.id, { content: CIPHERTEXT })).status).toBe(403)
    expect(await svc.rows('select content from room_messages where id = $1', [one.id])).toEqual([{ content: null }])
  })
})

describe('who may do what with messages', () => {
  test('follows from their role in the room', async () => {
    const room = await createRoom(svc, ['editor', 'viewer'])
    const { one } = await room.send(room.editor)
    const change = { content: 'bmV3|bmV3|bmV3' }

    expect((await room.viewer.get(`/room-messages/${one.id}`)).status).toBe(200)
    expect((await room.send(room.viewer)).status).toBe(403)
    expect((await room.viewer.update('room-messages', one.id, change)).status).toBe(403)
    expect((await room.viewer.delete(`/room-messages/${one.id}`)).status).toBe(403)
    expect((await room.admin.update('room-messages', one.id, change)).status).toBe(403)
    expect((await room.editor.delete(`/room-messages/${(await room.send()).one.id}`)).status).toBe(403)
    await svc.rows(`update room_members set role = 'viewer' where room_id = $1 and user_id = $2`, [
      room.id,
      room.editor.id,
    ])
    expect((await room.editor.update('room-messages', one.id, change)).status).toBe(403)
    expect((await room.editor.delete(`/room-messages/${one.id}`)).status).toBe(403)
    expect((await room.admin.delete(`/room-messages/${one.id}`)).status).toBe(200)
  })

  test('is nothing for whoever is no member: a message is nowhere to be found', async () => {
    const room = await createRoom(svc, ['editor'])
    const { one } = await room.send()
    const reply = await room.send(room.admin, {}, one.id)
    const removed = room.editor
    await svc.rows(`update room_members set state = 'removed' where room_id = $1 and user_id = $2`, [
      room.id,
      removed.id,
    ])
    const own = await createRoom(svc)
    const { one: ownMessage } = await own.send()

    for (const by of [await createPerson(svc), removed, svc.admin, own.admin]) {
      const answers = await Promise.all([
        by.get(`/room-messages/${one.id}`),
        by.get(`/room-messages/${reply.one.id}/thread`),
        by.get(`/room-messages/${one.id}/replies`),
        by.get(`/room-messages/${one.id}/relationships/room`),
        by.update('room-messages', one.id, { content: CIPHERTEXT }),
        by.delete(`/room-messages/${one.id}`),
        room.send(by),
        room.send(by, {}, one.id),
        by.get(`/rooms/${room.id}/actions/changes`),
        by.post(`/rooms/${room.id}/actions/mark-read`, { upTo: one.id }),
      ])
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
      expect(idsOf((await by.get('/room-messages')).list)).not.toContain(one.id)
    }
    expect((await svc.admin.get(`/rooms/${room.id}/messages`)).list).toEqual([])
    for (const number of [1, 2])
      expect((await svc.admin.get(`/rooms/${room.id}/messages?page[number]=${number}`)).total).toBe(0)
    expect((await own.admin.get(`/room-messages?include=room,thread`)).list.map(({ id }) => id)).toEqual([
      ownMessage.id,
    ])
    expect((await svc.guest.get(`/room-messages/${one.id}`)).status).toBe(401)
  })

  test('lists the messages of all rooms of a member, and of no other', async () => {
    const [one, two, foreign] = [await createRoom(svc), await createRoom(svc), await createRoom(svc)]
    await addMember(svc, two.id, 'viewer', one.admin)
    const sent = [await one.send(), await two.send(), await foreign.send()]

    const { list, total } = await one.admin.get('/room-messages')

    expect([idsOf(list), total]).toEqual([idsOf(sent.slice(0, 2).map(({ one }) => one)), 2])
  })
})
