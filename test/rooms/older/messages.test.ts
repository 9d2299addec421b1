import { randomBytes } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { findMessages } from '../../../facades/legacy/req/find.ts'
import { openBrowser } from '../../kit/browser.ts'
import { encodeText, readError, sendSuccessfully, startOlderRooms } from '../../kit/rooms/older-routes.ts'
import { shareResource } from '../../kit/share-resource.ts'

const older = shareResource(startOlderRooms)

test('a message is told once, also where somebody writes while its room is read', async () => {
  const related = async ({ page: { number } }: { page: { number: number } }) => ({
    items: (number === 1 ? ['3', '2'] : ['2', '1']).map((id) => ({ id })),
    total: 201,
  })
  const found = await findMessages({ api: { rooms: { related } }, room: { id: '1' }, viewer: '1' } as never)
  expect(found.map(({ id }) => id)).toEqual(['1', '2', '3'])
})

test('a request of version v2 names messages by id, within its room alone', async () => {
  const { svc, ada, bob, cyd, makeRoom, say } = older
  const [slug, other, foreign] = [await makeRoom(), await makeRoom(), await makeRoom(bob)]
  const first = await say(slug, 'first')
  const [elsewhere, unseen] = [await say(other, 'elsewhere'), await say(foreign, 'unseen', {}, bob)]
  const idsOf = async (room: string, { message_id }: { message_id: string }) => {
    const [found] = await svc.rows<{ id: number }>(
      `select m.id from room_messages m join rooms r on r.id = m.room_id
        where r.slug = $1 and m.seq = $2 and m.sub_seq = 0`,
      [room, Number(message_id.split('.')[0])],
    )
    return found!.id
  }
  const [id, elsewhereId, unseenId] = [
    await idsOf(slug, first),
    await idsOf(other, elsewhere),
    await idsOf(foreign, unseen),
  ]
  const body = { version: 'v2', content: { text: encodeText('second') } }
  const path = (route: string) => `/req/room/${route}/${slug}`

  const reply = await sendSuccessfully(ada, 'POST', path('sendMessage'), { ...body, thread_id: id })
  expect(reply['messageData']).toMatchObject({ message_id: '1.001' })
  const next = await sendSuccessfully(ada, 'POST', path('sendMessage'), { ...body, thread_id: 0 })
  expect(next['messageData']).toMatchObject({ message_id: '2.000' })
  const changed = await sendSuccessfully(ada, 'POST', path('updateMessage'), { ...body, id })
  expect(changed['messageData']).toMatchObject({ message_id: '1.000', content: { text: encodeText('second') } })
  await sendSuccessfully(ada, 'POST', path('readstat'), { version: 'v2', id })
  const none = { message_id: null, threadId: '' }
  const still = await sendSuccessfully(ada, 'POST', path('updateMessage'), { ...body, ...none, id, thread_id: null })
  expect(still['messageData']).toMatchObject({ message_id: '1.000' })
  for (const version of [null, '']) {
    await sendSuccessfully(ada, 'POST', path('updateMessage'), { ...body, version, message_id: '1.000' })
    await sendSuccessfully(ada, 'POST', path('readstat'), { version, message_id: '1.000' })
  }

  for (const [given, pointer, message] of [
    [{ version: 'v3', id }, '/version', 'Unsupported API version: v3'],
    [{ version: 'v2', id, message_id: '1.000' }, '/message_id', 'The message_id field is prohibited.'],
    [{ version: 'v2', thread_id: id, threadId: 1 }, '/threadId', 'The threadId field is prohibited.'],
    [{ version: 'v2', id: 2_000_000_000 }, '/id', 'Message with ID 2000000000 not found'],
    [{ version: 'v2', thread_id: 9_000_000_000 }, '/thread_id', 'Parent message with ID 9000000000 not found'],
    [{ version: 'v2', id: elsewhereId }, '/id', `Message with ID ${elsewhereId} not found`],
    [{ version: 'v2', thread_id: unseenId }, '/thread_id', `Parent message with ID ${unseenId} not found`],
  ] as const) {
    const { status, body: answer } = await ada.send('POST', path('updateMessage'), { body: { ...body, ...given } })
    expect([status, answer], message).toMatchObject([422, { message, errors: [{ source: { pointer } }] }])
  }
  const main = await sendSuccessfully(ada, 'POST', path('sendMessage'), body)
  expect(main['messageData']).toMatchObject({ message_id: '3.000' })
  const question = {
    payload: { model: 'demo', stream: false, messages: [{ role: 'user', content: { text: 'Hello' } }] },
  }
  for (const [given, field] of [
    [{ version: 'v3' }, 'version'],
    [{ version: 'v2', messageId: '1.000' }, 'messageId'],
    [{ version: 'v2', id }, 'id'],
    [{ version: 'v2', thread_id: id }, 'thread_id'],
  ] as const) {
    const { status, body: answer } = await ada.send('POST', '/req/streamAI', {
      body: { ...question, broadcast: false, ...given },
    })
    expect([status, answer]).toMatchObject([422, { errors: { [field]: [expect.any(String)] } }])
  }
  const inRoom = { ...question, broadcast: true, key: randomBytes(32).toString('base64'), version: 'v2' }
  const { status, body: refused } = await ada.send('POST', path('streamAI'), { body: { ...inRoom, id: elsewhereId } })
  expect([status, refused]).toMatchObject([422, { errors: { id: [expect.any(String)] } }])
  await sendSuccessfully(ada, 'POST', path('streamAI'), { ...inRoom, thread_id: id })
  const answer = () => ada.send('GET', `/req/room/message/get/${slug}/1.002`)
  await vi.waitUntil(async () => (await answer()).status === 200, { timeout: 60_000 })
  expect((await answer()).body).toMatchObject({ message_role: 'assistant', model: 'demo' })
  expect(await readError(cyd, 'POST', path('updateMessage'), { ...body, id })).toEqual([404, 'not_found'])
  expect(await readError(openBrowser(svc.url), 'POST', path('updateMessage'), { ...body, id })).toEqual([
    401,
    'signed_out',
  ])
})
