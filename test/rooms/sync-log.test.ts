import { expect, test } from 'vitest'
import { startJsonApi } from '../kit/json-api/client.ts'
import { createRoom } from '../kit/rooms/messages.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startJsonApi({ SYNC_LOG: 'true' }))

test('with SYNC_LOG a mutation returns the positions that it wrote', async () => {
  const room = await createRoom(svc, ['editor'])
  const positionOf = async () => {
    const { position } = await room.changes(room.admin)
    const [epoch, seq] = position.split(':')
    return { stream: `room:${room.id}`, epoch, seq: Number(seq) }
  }

  const sent = await room.send(room.editor)
  expect(sent.meta['_svc_sync_log']).toEqual([await positionOf()])
  const reply = await room.send(room.editor, {}, sent.one.id)
  expect(reply.meta['_svc_sync_log']).toHaveLength(2)
  expect(reply.meta['_svc_sync_log']).toContainEqual(await positionOf())
  const edited = await room.editor.update('room-messages', sent.one.id, { content: 'bmV3|bmV3|bmV3' })
  expect(edited.meta['_svc_sync_log']).toEqual([await positionOf()])
  const deleted = await room.admin.delete(`/room-messages/${sent.one.id}`)
  expect(deleted.meta['_svc_sync_log']).toEqual([await positionOf()])
  const renamed = await room.admin.update('rooms', room.id, { name: 'Go' })
  expect(renamed.meta['_svc_sync_log']).toEqual([await positionOf()])
  const read = await room.editor.post(`/rooms/${room.id}/actions/mark-read`, { upTo: reply.one.id })
  expect(read.meta['_svc_sync_log']).toMatchObject([await positionOf(), { stream: `user:${room.editor.id}` }])
  const again = await room.admin.delete(`/room-messages/${sent.one.id}`)
  expect(again.meta['_svc_sync_log']).toEqual([])
})

test('with SYNC_LOG a catalogue change returns its position in the common stream', async () => {
  const created = await svc.admin.create('ai-providers', { providerId: 'p', name: 'P', adapter: 'mistral' })
  const changed = await svc.admin.update('ai-providers', created.one.id, { name: 'Q' })
  const unchanged = await svc.admin.update('ai-providers', created.one.id, { name: 'Q' })

  const logged = await svc.rows<{ seq: number }>(
    `select seq::int from change_log where stream = 'all' and kind like 'ai-providers.%' order by seq`,
  )
  const [first, second] = logged.map(({ seq }) => ({ stream: 'all', epoch: expect.stringMatching(/^\w{12}$/), seq }))
  expect([created, changed, unchanged].map(({ meta }) => meta['_svc_sync_log'])).toEqual([[first], [second], []])
})

test('with SYNC_LOG nobody is told the position of the stream of somebody else', async () => {
  const room = await createRoom(svc, ['editor'])

  const removed = await room.admin.get(`/rooms/${room.id}/members`).then(({ list }) => {
    const member = list.find(({ attributes }) => attributes['username'] === room.editor.username)
    return room.admin.delete(`/room-members/${member?.id}`)
  })

  const positions = removed.meta['_svc_sync_log'] as { stream: string }[]
  expect([...new Set(positions.map(({ stream }) => stream))]).toEqual([`room:${room.id}`])
})

test('without SYNC_LOG the list is there and empty', async () => {
  await using silent = await startJsonApi()
  const room = await createRoom(silent)

  expect((await room.send()).meta['_svc_sync_log']).toEqual([])
})
