import { describe, expect, test } from 'vitest'
import { withChangeLog } from '../../routers/core/changes.ts'
import { createContext } from '../../routers/core/context.ts'
import { startJsonApi } from '../kit/json-api/client.ts'
import { addMember, createPerson, createRoom, type RoomPerson } from '../kit/rooms/messages.ts'
import { RawSubscription } from '../kit/rooms/raw-subscription.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startJsonApi({ SUBSCRIPTIONS_HEARTBEAT: '1s', SUBSCRIPTIONS_PER_PERSON: '3' }))

const followRoom = (person: { token?: string }, id: string, lastEventId?: string) =>
  RawSubscription.open({
    url: svc.url,
    path: 'rooms.changes',
    input: { id, ...(lastEventId && { lastEventId }) },
    ...(person.token && { token: person.token }),
  })

const followOwn = (person: RoomPerson, headers: Record<string, string> = {}) =>
  RawSubscription.open({ url: svc.url, path: 'users.changes', token: person.token, headers })

/** Writes changes to a stream in one transaction. */
const write = (stream: `user:${number}` | `room:${number}`, count: number) =>
  withChangeLog(createContext(svc.services, { origin: 'host', requestId: 'test' }), async (_, changes) => {
    for (let n = 1; n <= count; n++) changes.add([stream], 'updated', 'rooms', 4711)
  })

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)

const noneLeft = () => expect.poll(() => svc.services.changes.subscriptions.count(), { timeout: 60_000 }).toBe(0)

describe('a subscription to changes', () => {
  test('tells from which position on it tells everything, then each change as it happens', async () => {
    const room = await createRoom(svc, ['editor'])
    const following = await followRoom(room.editor, room.id)
    const position = await following.waitForPosition()

    const { one } = await room.send()

    const seq = Number(position.split(':')[1]) + 1
    await following.untilSeq(seq)
    expect(following.messages).toEqual([
      { type: 'position', position },
      {
        type: 'change',
        seq,
        kind: 'room-messages.created',
        subject: one.id,
        at: expect.stringMatching(/Z$/),
        record: expect.objectContaining({ id: one.id }),
      },
    ])
    expect(following.ids).toEqual([position, `${position.split(':')[0]}:${seq}`])
    following.close()
    await noneLeft()
  })

  test('goes on behind Last-Event-ID without a hole and without telling anything twice', async () => {
    const person = await createPerson(svc)
    await write(`user:${person.id}`, 3)
    const first = await followOwn(person)
    await first.waitForPosition()
    await write(`user:${person.id}`, 2)
    await first.untilSeq(5)
    first.close()
    await write(`user:${person.id}`, 1200)

    const second = await followOwn(person, { 'last-event-id': first.ids.at(-1) ?? '' })
    await write(`user:${person.id}`, 5)

    await second.untilSeq(1210)
    expect(second.seqs).toEqual(range(6, 1210))
    expect(second.messages[0]).toEqual({ type: 'position', position: first.ids.at(-1) })
    second.close()
  })

  test('begins at the position that its input names, also where nothing has happened since', async () => {
    const room = await createRoom(svc)
    const { position } = await room.changes(room.admin)
    const following = await followRoom(room.admin, room.id, position)

    expect(await following.waitForPosition()).toBe(position)
    await room.send()
    await expect.poll(() => following.seqs).toEqual([Number(position.split(':')[1]) + 1])
    following.close()
  })

  test("is refused with the oldest usable position, where the client's is too old", async () => {
    const person = await createPerson(svc)
    await write(`user:${person.id}`, 4)

    const following = await followOwn(person, { 'last-event-id': '000000000000:1' })

    expect(await following.ended).toBe('closed')
    expect(following.problem).toMatchObject({
      problem: 'position_too_old',
      position: expect.stringMatching(/^[0-9a-f]{12}:4$/),
    })
    const fresh = await followOwn(person, { 'last-event-id': String(following.problem?.['position']) })
    expect(await fresh.waitForPosition()).toBe(following.problem?.['position'])
    fresh.close()
  })

  test('ends with that refusal where changes are lost while it is open', async () => {
    const own = await startJsonApi()
    await using _ = own
    const person = await own.user({ abilities: ['read'] })
    const following = await RawSubscription.open({ url: own.url, path: 'users.changes', token: person.token })
    const before = await following.waitForPosition()

    await own.host.changeLog.restored()

    await following.ended
    expect(following.problem).toMatchObject({ problem: 'position_too_old' })
    expect(String(following.problem?.['position']).split(':')[0]).not.toBe(before.split(':')[0])
  })

  test('sends a sign of life while nothing changes', async () => {
    const following = await followOwn(await createPerson(svc))
    const pings = () => following.events.filter(({ event }) => event === 'ping').length

    await expect.poll(pings, { timeout: 60_000 }).toBeGreaterThanOrEqual(2)
    following.close()
  })

  test.for(['x', '0123456789ab:', '0123456789ab:-1'])('refuses %j as a position', async (lastEventId) => {
    const following = await followOwn(await createPerson(svc), { 'last-event-id': lastEventId })

    await following.ended
    expect(following.problem).toMatchObject({ httpStatus: 400 })
    expect(following.messages).toEqual([])
  })
})

describe('who may follow', () => {
  test('neither strangers, installation administrators nor former members learn of the room', async () => {
    const room = await createRoom(svc, ['viewer'])
    await room.admin.delete(`/room-members/${await membershipOf(room.id, room.viewer.id)}`)

    for (const person of [await createPerson(svc), svc.people.admin, room.viewer]) {
      const following = await followRoom(person, room.id)
      await following.ended
      expect([following.problem?.['problem'], following.messages]).toEqual(['not_found', []])
    }
  })

  test('a guest and a token without the ability are refused by status', async () => {
    const room = await createRoom(svc)
    const { token } = await svc.user({ abilities: ['user'] })

    expect((await followRoom({}, room.id)).status).toBe(401)
    expect((await followRoom({ token }, room.id)).status).toBe(403)
  })

  test('nobody is told what concerns somebody else', async () => {
    const [one, other] = [await createPerson(svc), await createPerson(svc)]
    const following = await followOwn(one)
    await following.waitForPosition()

    await write(`user:${other.id}`, 1)
    await write(`user:${one.id}`, 1)

    await following.untilSeq(1)
    expect(following.seqs).toEqual([1])
    following.close()
  })
})

const membershipOf = async (room: string, user: number) => {
  const [row] = await svc.rows<{ id: number }>('select id from room_members where room_id = $1 and user_id = $2', [
    room,
    user,
  ])
  return row?.id
}

describe('a subscription ends', () => {
  test('after the change that removes its member, and the others continue', async () => {
    const room = await createRoom(svc, ['editor', 'viewer'])
    const [removed, staying] = [await followRoom(room.viewer, room.id), await followRoom(room.editor, room.id)]
    const begin = Number((await removed.waitForPosition()).split(':')[1])
    await staying.waitForPosition()

    const sending = Array.from({ length: 10 }, () => room.send())
    await room.admin.delete(`/room-members/${await membershipOf(room.id, room.viewer.id)}`)
    await Promise.all([...sending, room.send()])

    const [removal] = await svc.rows<{ seq: number }>(
      `select seq::int from change_log where stream = $1 and kind = 'room-members.deleted'`,
      [`room:${room.id}`],
    )
    expect(await removed.ended).toBe('closed')
    expect(removed.seqs).toEqual(range(begin + 1, Number(removal?.seq) - 1))
    expect(removed.problem).toMatchObject({ problem: 'not_found' })
    const { position } = await room.changes(room.admin)
    await staying.untilSeq(Number(position.split(':')[1]))
    staying.close()
  })

  test('with its room', async () => {
    const room = await createRoom(svc, ['viewer'])
    const following = await followRoom(room.viewer, room.id)
    await following.waitForPosition()

    await room.admin.delete(`/rooms/${room.id}`)

    await following.ended
    expect(following.problem).toMatchObject({ problem: 'not_found' })
  })

  test('with its token, and nothing is told from then on', async () => {
    const room = await createRoom(svc)
    const viewer = await addMember(svc, room.id, 'viewer')
    const following = await followRoom(viewer, room.id)
    await following.waitForPosition()

    await svc.rows('delete from access_tokens where user_id = $1', [viewer.id])

    expect(await following.ended).toBe('closed')
    expect(following.problem).toMatchObject({ problem: 'signed_out', httpStatus: 401 })
    await room.send()
    expect(following.seqs).toEqual([])
  })

  test('with its person, at the place of the log where they leave their rooms', async () => {
    const room = await createRoom(svc)
    const viewer = await addMember(svc, room.id, 'viewer')
    const following = await followRoom(viewer, room.id)
    const begin = Number((await following.waitForPosition()).split(':')[1])

    await svc.host.admin.removeUser({ user: { id: viewer.id } })
    await room.send()

    await following.ended
    expect(following.seqs.filter((seq) => seq > begin)).toEqual([])
    await noneLeft()
  })
})

test('a person has a bounded number of subscriptions, and closing one frees a slot', async () => {
  const person = await createPerson(svc)
  const open = await Promise.all(range(1, 3).map(() => followOwn(person)))
  await Promise.all(open.map((following) => following.waitForPosition()))

  const refused = await followOwn(person)
  await refused.ended
  expect(refused.problem).toMatchObject({ problem: 'too_many_requests' })
  const other = await followOwn(await createPerson(svc))
  await other.waitForPosition()

  for (const following of [...open, other]) following.close()
  await noneLeft()
  const again = await followOwn(person)
  await again.waitForPosition()
  again.close()
})
