import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type JsonApiApp, startJsonApi, toMany, toOne } from '../kit/json-api/client.ts'
import { openPusher } from '../kit/realtime/pusher.ts'
import { upload } from '../kit/rooms/attachments.ts'
import { addMember, CIPHERTEXT, createPerson, createRoom } from '../kit/rooms/messages.ts'
import { RawSubscription } from '../kit/rooms/raw-subscription.ts'

let svc: JsonApiApp
beforeAll(async () => {
  svc = await startJsonApi()
})
afterAll(() => svc[Symbol.asyncDispose]())

const OTHER = 'aXY=|dGFn|b3RoZXI='
const KIB = 1024

interface CarryingChange {
  kind: string
  subject: string
  record?: { id: string; content: string | null }
}

/** Follows a room; without a token as a guest. */
async function followRoom(id: string, token: string | undefined, lastEventId?: string) {
  const input = { id, ...(lastEventId && { lastEventId }) }
  const following = await RawSubscription.open({ url: svc.url, path: 'rooms.changes', input, ...(token && { token }) })
  const changes = () => following.messages.filter(({ type }) => type === 'change') as unknown as CarryingChange[]
  return { following, changes, last: () => changes().at(-1) }
}

/** Reads a message with its files by the procedure that browsers use. */
async function readMessage(token: string, id: string): Promise<unknown> {
  const input = encodeURIComponent(JSON.stringify({ id, include: ['attachments'] }))
  const response = await fetch(`${svc.url}/trpc/roomMessages.get?input=${input}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return ((await response.json()) as { result: { data: object } }).result.data
}

describe('a change of a message carries the message', () => {
  test('as another member reads it, when it is written, edited and deleted', async () => {
    const room = await createRoom(svc, ['editor'])
    const { following, changes, last } = await followRoom(room.id, room.editor.token)
    await following.waitForPosition()
    const asRead = (id: string) => readMessage(room.editor.token, id)

    const { one } = await room.send()
    await expect.poll(() => changes().length).toBe(1)
    expect(last()).toMatchObject({ kind: 'room-messages.created', subject: one.id, record: await asRead(one.id) })

    await room.admin.update('room-messages', one.id, { content: OTHER })
    await expect.poll(() => changes().length).toBe(2)
    expect(last()?.record?.content).toBe(OTHER)
    expect(last()?.record).toEqual(await asRead(one.id))

    await room.admin.delete(`/room-messages/${one.id}`)
    await expect.poll(() => changes().length).toBe(3)
    expect(last()?.record?.content).toBeNull()
    expect(last()?.record).toEqual(await asRead(one.id))
    following.close()
  })

  test('also the message that a reply answers, with its new number of replies', async () => {
    const room = await createRoom(svc, ['editor'])
    const { one: root } = await room.send()
    const { following, changes } = await followRoom(room.id, room.editor.token)
    await following.waitForPosition()

    const { one: reply } = await room.send(room.admin, {}, root.id)

    await expect.poll(() => changes().length).toBe(2)
    const records = changes().map(({ record }) => record)
    expect(records).toEqual([
      await readMessage(room.editor.token, reply.id),
      await readMessage(room.editor.token, root.id),
    ])
    expect(records[1]).toMatchObject({ replyCount: 1 })
    following.close()
  })

  test('with its files', async () => {
    const room = await createRoom(svc, ['editor'])
    const { following, changes } = await followRoom(room.id, room.editor.token)
    await following.waitForPosition()
    const { one: file } = await upload(svc, room.admin.token, 'a,b\n1,2\n', { name: 'table.csv' })

    const { one } = await room.admin.create(
      'room-messages',
      { content: CIPHERTEXT },
      {
        room: toOne('rooms', room.id),
        attachments: toMany('attachments', [file.id]),
      },
    )

    const find = () => changes().find(({ kind }) => kind === 'room-messages.created')
    await expect.poll(find).toBeDefined()
    expect(find()?.record).toEqual(await readMessage(room.editor.token, one.id))
    expect(find()?.record).toMatchObject({ relations: { attachments: [{ id: file.id, name: 'table.csv' }] } })
    following.close()
  })

  test('over the Pusher protocol, too', async () => {
    const room = await createRoom(svc, ['editor'])
    const [{ slug } = { slug: '' }] = await svc.rows<{ slug: string }>('select slug from rooms where id = $1', [
      room.id,
    ])
    using client = openPusher(svc.url, { token: room.editor.token })
    await client.subscribe(`private-Rooms.${slug}`)

    const { one } = await room.send()

    await client.until('change', 1)
    expect(client.dataOf('change')[0]?.['record']).toEqual(await readMessage(room.editor.token, one.id))
  })

  test('only up to 16 KiB', async () => {
    const room = await createRoom(svc)
    const { following, changes } = await followRoom(room.id, room.admin.token)
    await following.waitForPosition()
    const seal = (size: number) => `aXY=|dGFn|${'A'.repeat(size)}`

    await room.send(room.admin, { content: seal(15 * KIB) })
    await room.send(room.admin, { content: seal(16 * KIB) })

    await expect.poll(() => changes().length).toBe(2)
    expect(changes().map(({ record }) => record !== undefined)).toEqual([true, false])
    following.close()
  })

  test('without what only its author has requested', async () => {
    const room = await createRoom(svc, ['editor'])
    const { following, last } = await followRoom(room.id, room.editor.token)
    await following.waitForPosition()

    const { status, one } = await room.admin.send('POST', '/room-messages?fields[room-messages]=readBy', {
      data: {
        type: 'room-messages',
        attributes: { content: CIPHERTEXT },
        relationships: { room: toOne('rooms', room.id) },
      },
    })

    expect(status).toBe(201)
    expect(one.attributes['readBy']).toEqual([room.admin.id])
    await expect.poll(last).toBeDefined()
    expect(last()?.record).toEqual(await readMessage(room.editor.token, one.id))
    following.close()
  })
})

describe('no message is carried', () => {
  test('to guests, to people outside of the room and to removed members', async () => {
    const room = await createRoom(svc, ['viewer'])
    const outsider = await createPerson(svc)
    const member = await followRoom(room.id, room.viewer.token)
    const begin = await member.following.waitForPosition()
    await room.send()
    await expect.poll(() => member.changes().length).toBe(1)

    const [membership] = await svc.rows<{ id: number }>(
      'select id from room_members where room_id = $1 and user_id = $2',
      [room.id, room.viewer.id],
    )
    await room.admin.delete(`/room-members/${membership?.id}`)
    await room.send()
    expect(await member.following.ended).toBeDefined()
    expect(member.changes().filter(({ kind }) => kind.startsWith('room-messages'))).toHaveLength(1)

    for (const token of [undefined, outsider.token, room.viewer.token]) {
      const { following, changes } = await followRoom(room.id, token, begin)
      await following.ended
      expect(changes()).toEqual([])
      expect(following.problem ?? { status: following.status }).toBeDefined()
    }
  })

  test('when somebody who joined later follows what happened before', async () => {
    const room = await createRoom(svc)
    const early = await followRoom(room.id, room.admin.token)
    const begin = await early.following.waitForPosition()
    await room.send()
    await expect.poll(() => early.last()?.record).toBeDefined()
    const later = await addMember(svc, room.id, 'viewer')

    const late = await followRoom(room.id, later.token, begin)
    await expect.poll(() => late.changes().length).toBe(1)
    expect(late.last()?.record).toBeUndefined()
    await room.send()
    await expect.poll(() => late.changes().length).toBe(2)
    expect(late.last()?.record).toEqual(await readMessage(later.token, late.last()?.subject ?? ''))
    for (const { following } of [early, late]) following.close()
  })
})
