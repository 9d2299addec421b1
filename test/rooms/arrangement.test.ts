import { expect, test } from 'vitest'
import { createRoom, type RoomPerson } from '../kit/rooms/messages.ts'
import { startRooms } from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startRooms)

const marksOf = async (person: RoomPerson, room: string) => {
  const { isMuted, isArchived } = (await person.get(`/rooms/${room}`)).one.attributes
  return { isMuted, isArchived }
}

test('a member mutes and archives a room for themself alone, each without the other', async () => {
  const room = await createRoom(svc, ['viewer'])
  const arrange = (values: object) => room.viewer.post(`/rooms/${room.id}/actions/arrange`, values)

  expect((await arrange({ isMuted: true })).status).toBe(200)
  expect((await arrange({ isArchived: true })).status).toBe(200)
  expect(await marksOf(room.viewer, room.id)).toEqual({ isMuted: true, isArchived: true })
  expect(await marksOf(room.admin, room.id)).toEqual({ isMuted: false, isArchived: false })
  await arrange({ isMuted: false })
  expect(await marksOf(room.viewer, room.id)).toEqual({ isMuted: false, isArchived: true })
  expect((await arrange({ isMuted: 'yes' })).status).toBe(422)
  expect((await arrange({ pinned: true })).status).toBe(422)
})

test('somebody who is no member arranges nothing', async () => {
  const [room, other] = [await createRoom(svc, []), await createRoom(svc, ['viewer'])]
  expect((await other.viewer.post(`/rooms/${room.id}/actions/arrange`, { isMuted: true })).status).toBe(404)
})

test('the last message of each own room is shown encrypted, unless deleted', async () => {
  const room = await createRoom(svc, ['editor', 'viewer'])
  const first = (await room.send()).one
  const second = (await room.send(room.editor)).one
  const last = async (person: RoomPerson) => {
    const answer = await svc.send('GET', '/trpc/rooms.lastMessages', { token: person.token })
    const { result } = (await answer.json()) as { result: { data: { room: string; id: string; content: string }[] } }
    return result.data.find((each) => each.room === room.id)
  }
  expect(await last(room.viewer)).toMatchObject({ id: second.id, content: second.attributes['content'], model: null })
  await room.editor.delete(`/room-messages/${second.id}`)
  expect((await last(room.viewer))?.id).toBe(first.id)
  await svc.rows("update room_members set state = 'removed' where room_id = $1 and user_id = $2", [
    room.id,
    room.viewer.id,
  ])
  expect(await last(room.viewer)).toBeUndefined()
})
