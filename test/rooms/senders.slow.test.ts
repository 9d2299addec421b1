import { describe, expect, inject, test } from 'vitest'
import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { createApiClient, type JsonApiApp, startJsonApi } from '../kit/json-api/client.ts'
import { redisDatabaseUrl } from '../kit/parts/redis.ts'
import { addMember, createRoom, type RoomPerson, sendRoomMessage } from '../kit/rooms/messages.ts'

const SENDERS = 20
const SENDS = 8

/** Two replicas of one service. */
async function startReplicas() {
  await using stack = new AsyncDisposableStack()
  const settings = { REDIS_URL: redisDatabaseUrl(5), SYNC_LOG: 'true', DATABASE_POOL: '10' }
  const one = stack.use(await startJsonApi(settings))
  const other = stack.use(await startApp({ ...settings, DATABASE_URL: String(one.env.DATABASE_URL) }))
  const kept = stack.move()
  return { one, other, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** Returns the bus messages of a room after a number; earlier ones may still arrive. */
function listen({ services }: TestApp, room: string, behind: number): LoggedChange[] {
  const logged: LoggedChange[] = []
  services.changes.bus.subscribe({
    onChanges: (changes) =>
      void logged.push(...changes.filter(({ stream, seq }) => stream === `room:${room}` && seq > behind)),
    onInterruption: () => {},
  })
  return logged
}

/** Sends messages one after the other, every second one three times, two of them concurrently. */
async function sendAll(by: RoomPerson, elsewhere: Pick<RoomPerson, 'create'>, room: string, sender: number) {
  const ids: string[] = []
  for (let n = 0; n < SENDS; n++) {
    const clientId = `${sender}-${n}`
    const [via, again] = n % 4 < 2 ? [by, elsewhere] : [elsewhere, by]
    const sent = [await sendRoomMessage(via, room, { clientId })]
    if (n % 2)
      sent.push(
        ...(await Promise.all([sendRoomMessage(again, room, { clientId }), sendRoomMessage(via, room, { clientId })])),
      )
    expect(sent.map(({ status, one }) => [status, one?.id])).toEqual(sent.map(() => [201, sent[0]?.one.id]))
    ids.push(sent[0]?.one.id ?? '')
  }
  return ids
}

async function joinBoth(svc: JsonApiApp, other: TestApp, room: string) {
  const person = await addMember(svc, room, 'editor')
  return { person, elsewhere: createApiClient(other, person.token) }
}

describe.skipIf(!inject('redisUrl'))('twenty people who write in one room by two replicas with repeats', () => {
  test('get unique numbers without gaps, no duplicates, and one order for all readers', {
    timeout: 300_000,
  }, async () => {
    await using replicas = await startReplicas()
    const { one, other } = replicas
    const room = await createRoom(one)
    const { position } = await room.changes(room.admin)
    const begin = Number(position.split(':')[1])
    const listeners = [listen(one, room.id, begin), listen(other, room.id, begin)]
    const people = await Promise.all(Array.from({ length: SENDERS }, () => joinBoth(one, other, room.id)))

    const sent = await Promise.all(
      people.map(({ person, elsewhere }, sender) => sendAll(person, elsewhere, room.id, sender)),
    )

    const total = SENDERS * SENDS
    const { list } = await room.admin.get(`/rooms/${room.id}/messages?sort=number&page[size]=200`)
    expect(list.map(({ attributes }) => attributes['number'])).toEqual(
      Array.from({ length: total }, (_, n) => `${n + 1}.000`),
    )
    expect(list.map(({ id }) => id).toSorted()).toEqual(sent.flat().toSorted())
    const { changes } = await room.changes(room.admin, position)
    const seen = changes.filter(({ kind }) => kind === 'room-messages.created')
    expect(seen.map(({ subject }) => subject)).toEqual(list.map(({ id }) => id))
    expect(changes.map(({ seq }) => seq)).toEqual(changes.map((_, n) => begin + n + 1))
    for (const heardChanges of listeners) {
      await expect.poll(() => heardChanges.length).toBe(changes.length)
      expect(heardChanges.toSorted((a, b) => a.seq - b.seq).map(({ seq, subject }) => [seq, subject])).toEqual(
        changes.map(({ seq, subject }) => [seq, subject]),
      )
    }
  })
})
