import { expect, test } from 'vitest'
import { createClient } from '../../facades/client/index.ts'
import { startJsonApi } from '../kit/json-api/client.ts'
import { sendAttachments, upload } from '../kit/rooms/attachments.ts'
import { addMember, createPerson, createRoom, type RoomPerson } from '../kit/rooms/messages.ts'
import { RawSubscription } from '../kit/rooms/raw-subscription.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startJsonApi())

const SEALED = 'aXY=|dGFn|cmVhY3Rpb24='

const of = ({ token }: { token?: string }) => createClient({ url: svc.url, ...(token && { token }) }).roomReactions
const react = (by: { token?: string }, message: string, more: object = {}) =>
  of(by).add.mutate({ message, content: SEALED, keyEpoch: 0, ...more })
const list = (by: { token?: string }, ...messages: string[]) => of(by).list.query({ messages })

/** Ends somebody's membership. */
async function removeFrom(room: { id: string; admin: RoomPerson }, { id }: RoomPerson) {
  const [membership] = await svc.rows<{ id: number }>(
    'select id from room_members where room_id = $1 and user_id = $2',
    [room.id, id],
  )
  expect((await room.admin.delete(`/room-members/${membership?.id}`)).status).toBe(200)
}

test('members react to messages, and read all reactions of a page at once', async () => {
  const room = await createRoom(svc, ['editor', 'viewer'])
  const [first, second, third] = [await room.send(), await room.send(), await room.send()].map(({ one }) => one.id)
  await react(room.admin, first ?? '')
  const added = await react(room.editor, first ?? '')
  await react(room.editor, second ?? '')

  const found = await list(room.viewer, first ?? '', second ?? '', third ?? '')
  const counts = found.map(({ id, reactions }) => [id, reactions.length])
  expect(new Map(counts as [string, number][])).toEqual(
    new Map([
      [first, 2],
      [second, 1],
    ]),
  )
  expect(added).toEqual(found.find(({ id }) => id === first))
  expect(added.reactions[1]).toMatchObject({ content: SEALED, keyEpoch: 0, name: room.editor.name })
  // Whoever joins later reads them as well.
  const later = await addMember(svc, room.id, 'viewer')
  expect(await list(later, first ?? '')).toEqual([added])
})

test('only members read reactions, and only those who may write add them', async () => {
  const room = await createRoom(svc, ['editor', 'viewer'])
  const { id } = (await room.send()).one
  await react(room.editor, id)
  const before = await list(room.admin, id)

  for (const by of [await createPerson(svc), svc.people.admin]) {
    expect(await list(by, id)).toEqual([])
    await expect(react(by, id)).rejects.toMatchObject({ status: 404 })
    await expect(of(by).remove.mutate({ message: id, id: before[0]?.reactions[0]?.id ?? '' })).rejects.toMatchObject({
      status: 404,
    })
  }
  await expect(list({}, id)).rejects.toMatchObject({ status: 401 })
  await expect(react({}, id)).rejects.toMatchObject({ status: 401 })
  await expect(react(room.viewer, id)).rejects.toMatchObject({ status: 403 })
  expect(await list(room.admin, id)).toEqual(before)
})

test('an unknown message is refused like one of another room', async () => {
  const [room, other] = [await createRoom(svc), await createRoom(svc)]
  const { id } = (await other.send()).one
  const refusal = (message: string) => react(room.admin, message).catch((error: { issues: unknown }) => error.issues)

  expect(await refusal(id)).toBeDefined()
  expect(await refusal(id)).toEqual(await refusal('2000000000'))
})

test('a reaction is removed by its author alone', async () => {
  const room = await createRoom(svc, ['editor'])
  const { id } = (await room.send()).one
  const { reactions } = await react(room.editor, id)
  const remove = (by: RoomPerson) => of(by).remove.mutate({ message: id, id: reactions[0]?.id ?? '' })

  expect((await remove(room.admin)).reactions).toHaveLength(1)
  const { position } = await room.changes(room.admin)
  for (let n = 0; n < 2; n++) expect((await remove(room.editor)).reactions).toEqual([])
  const { changes } = await room.changes(room.admin, position)
  expect(changes).toMatchObject([{ kind: 'room-reactions.updated', subject: id }])
})

test('reactions are bounded, by person, by message and in bytes', async () => {
  const room = await createRoom(svc, ['editor'])
  const { id } = (await room.send()).one
  for (let n = 0; n < 10; n++) await react(room.editor, id)
  await expect(react(room.editor, id)).rejects.toMatchObject({ status: 422 })
  await svc.rows(
    `insert into room_reactions (message_id, member_id, content, key_epoch)
     select message_id, member_id, content, key_epoch from room_reactions cross join generate_series(1, 4) where message_id = $1`,
    [id],
  )
  await expect(react(room.admin, id)).rejects.toMatchObject({ status: 422 })

  const other = (await room.send()).one.id
  for (const content of [`aXY=|dGFn|${'A'.repeat(200)}`, 'in clear', ''])
    await expect(react(room.admin, other, { content })).rejects.toMatchObject({ status: 400 })
  await expect(react(room.admin, other, { keyEpoch: 1 })).rejects.toMatchObject({ status: 422 })
  const many = Array.from({ length: 201 }, (_, n) => `${n + 1}`)
  await expect(list(room.admin, ...many)).rejects.toMatchObject({ status: 400 })
})

test('a former member reads and adds none, and former reactions stay', async () => {
  const room = await createRoom(svc, ['editor'])
  const { id } = (await room.send()).one
  await react(room.editor, id)
  await removeFrom(room, room.editor)

  expect(await list(room.editor, id)).toEqual([])
  await expect(react(room.editor, id)).rejects.toMatchObject({ status: 404 })
  expect((await list(room.admin, id))[0]?.reactions).toMatchObject([{ name: room.editor.name }])
  await expect(react(room.admin, id)).rejects.toMatchObject({ code: 'room_key_needed' })
})

test('reactions go with their message, their author and their room', async () => {
  const room = await createRoom(svc, ['editor'])
  const [first, second] = [await room.send(), await room.send()].map(({ one }) => one.id)
  for (const id of [first, second]) for (const by of [room.admin, room.editor]) await react(by, id ?? '')
  const count = async () => (await svc.rows('select from room_reactions')).length
  const before = await count()

  expect((await room.admin.delete(`/room-messages/${first}`)).status).toBe(200)
  expect(await list(room.admin, first ?? '')).toEqual([])
  await expect(react(room.admin, first ?? '')).rejects.toMatchObject({ status: 404 })
  const { position } = await room.changes(room.admin)
  expect((await svc.admin.delete(`/users/${room.editor.id}`)).status).toBe(200)
  const { changes } = await room.changes(room.admin, position)
  expect(changes.filter(({ kind }) => kind === 'room-reactions.updated')).toMatchObject([{ subject: second }])
  expect((await list(room.admin, second ?? ''))[0]?.reactions).toHaveLength(1)
  expect((await room.admin.delete(`/rooms/${room.id}`)).status).toBe(200)

  expect(await count()).toBe(before - 4)
})

test('reactions go with the last file of a message without text', async () => {
  const room = await createRoom(svc)
  const file = (await upload(svc, room.admin.token, 'only')).one.id
  const { id } = (await sendAttachments(room.admin, room.id, [file])).one
  await react(room.admin, id)

  expect((await room.admin.delete(`/attachments/${file}`)).status).toBe(200)

  expect(await list(room.admin, id)).toEqual([])
  expect(await svc.rows('select from room_reactions where message_id = $1', [id])).toEqual([])
})

test('a change carries all reactions to the message, which itself stays as it is', async () => {
  const room = await createRoom(svc, ['editor'])
  const { id } = (await room.send()).one
  const message = async () => (await room.admin.get(`/room-messages/${id}`)).text
  const before = await message()
  const following = await RawSubscription.open({
    url: svc.url,
    path: 'rooms.changes',
    input: { id: room.id },
    token: room.editor.token,
  })
  await following.waitForPosition()

  const added = await react(room.admin, id)

  const changes = () => following.messages.filter(({ type }) => type === 'change')
  await expect.poll(changes).toMatchObject([{ kind: 'room-reactions.updated', subject: id, record: added }])
  following.close()
  expect(await message()).toBe(before)
})
