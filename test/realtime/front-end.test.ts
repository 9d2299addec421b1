import { describe, expect, test } from 'vitest'
import { startJsonApi } from '../kit/json-api/client.ts'
import { startRelay } from '../kit/parts/relay.ts'
import { FrontEnd, readRoom } from '../kit/realtime/front-end.ts'
import { openPusher } from '../kit/realtime/pusher.ts'
import { createRoom } from '../kit/rooms/messages.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)

const SLOW = { timeout: 60_000, interval: 50 }

/** A front end behind a connection that can be cut. */
async function openFrontEnd(transport: 'server-sent events' | 'pusher-js', url: string, token: string, room: string) {
  if (transport === 'server-sent events') return { frontEnd: new FrontEnd({ url, token, room }), close() {} }
  const [row] = await svc.rows<{ slug: string }>('select slug from rooms where id = $1', [room])
  const { pusher, ...opened } = openPusher(url, { token })
  const frontEnd = new FrontEnd({ url, token, room, over: { pusher, channel: `private-Rooms.${row?.slug}` } })
  return { frontEnd, close: () => opened[Symbol.dispose]() }
}

const plain = (sight: Map<string, unknown>) =>
  Object.fromEntries([...sight].toSorted(([one], [other]) => one.localeCompare(other)))

describe.for(['server-sent events', 'pusher-js'] as const)('a front end over %s', (transport) => {
  test('shows what a fresh read shows, also after a lost connection', async () => {
    await using relay = await startRelay(Number(new URL(svc.url).port))
    const room = await createRoom(svc, ['viewer'])
    const [url, { token }] = [`http://127.0.0.1:${relay.port}`, room.viewer]
    const { frontEnd, close } = await openFrontEnd(transport, url, token, room.id)
    const isFresh = () =>
      expect
        .poll(async () => [frontEnd.shown, plain(await readRoom({ url: svc.url, token, room: room.id }))], SLOW)
        .toSatisfy(([shown, fresh]) => JSON.stringify(shown) === JSON.stringify(fresh))
    await frontEnd.live.whenCurrent()
    const { one } = await room.send()
    await room.admin.update('room-messages', one.id, { content: 'bmV3|bmV3|bmV3' })
    await isFresh()

    relay.cut()
    await Promise.all(Array.from({ length: 20 }, () => room.send()))
    await room.admin.delete(`/room-messages/${one.id}`)
    relay.mend()

    await room.send()
    await isFresh()
    expect([frontEnd.sight.size > 21, frontEnd.reads]).toEqual([true, 1])
    frontEnd.stop()
    close()
  })

  test('ends when its person is removed, and is told nothing of what comes later', async () => {
    const room = await createRoom(svc, ['viewer'])
    const { frontEnd, close } = await openFrontEnd(transport, svc.url, room.viewer.token, room.id)
    await frontEnd.live.whenCurrent()
    await room.send()
    const [member] = await svc.rows<{ id: number }>('select id from room_members where room_id = $1 and user_id = $2', [
      room.id,
      room.viewer.id,
    ])

    await Promise.all([room.send(), room.admin.delete(`/room-members/${member?.id}`), room.send()])
    await room.send()

    await expect.poll(() => frontEnd.endedBy, SLOW).toBe('not_found')
    const [removal] = await svc.rows<{ seq: number }>(
      `select seq::int from change_log where stream = $1 and kind = 'room-members.deleted'`,
      [`room:${room.id}`],
    )
    expect(frontEnd.receivedSeqs.filter((seq) => seq >= Number(removal?.seq))).toEqual([])
    close()
  })
})
