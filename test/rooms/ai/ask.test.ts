import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { answers, type Behaviour, beginStream, buildChunk, repeats } from '../../kit/ai/provider.ts'
import { signIn } from '../../kit/browser.ts'
import { createApiClient } from '../../kit/json-api/client.ts'
import {
  buildUserMessage,
  createAiRoom,
  KEY,
  listDisclosures,
  listMessages,
  openContent,
  readUsage,
  requestRoomAnswer,
  startRoomAi,
  waitForAnswer,
} from '../../kit/rooms/ai.ts'
import { createPerson } from '../../kit/rooms/messages.ts'
import { shareResource } from '../../kit/share-resource.ts'

const app = shareResource(startRoomAi)

const room = async (...roles: ('admin' | 'editor' | 'viewer')[]) => {
  app.provider.behave = answers('Good day.')
  return createAiRoom(app, roles)
}

describe('an answer in a room', () => {
  test('is the AI user’s message, encrypted for the room, and another member opens it', async () => {
    const { id, admin, viewer, send } = await room('editor', 'viewer')
    const { one: message } = await send()
    const text = 'Which opening is this?'

    const { status, meta } = await requestRoomAnswer(admin, id, '', {
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
        buildUserMessage(text, { source: message.id }),
      ],
      parameters: { temperature: 0.5 },
    })

    expect(status).toBe(200)
    const disclosure = await waitForAnswer(viewer, id)
    expect(disclosure).toMatchObject({ id: meta['disclosure'], user: `${admin.id}`, state: 'completed', error: null })
    const answer = (await viewer.get(`/room-messages/${disclosure.answer}?include=member`)).one
    expect(answer.attributes).toMatchObject({
      number: '2.000',
      model: 'mock-1',
      keyEpoch: 0,
      metadata: { tools: null, params: { temperature: 0.5 } },
    })
    expect(await openContent(answer.attributes['content'])).toEqual({ text: 'Good day.' })
    expect(app.provider.requests.at(-1)?.body.messages.map(({ content }) => content)).toEqual(['Be brief.', text])
    const hash = createHmac('sha256', Buffer.from(KEY, 'base64')).update(text).digest('base64url')
    expect(disclosure.parts).toEqual([
      { role: 'system', message: null, kind: 'text', bytes: 9, hash: expect.stringMatching(/^[\w-]{43}$/) },
      { role: 'user', message: message.id, kind: 'text', bytes: text.length, hash },
    ])
    await app.svc.services.ai.usageLedger.flush()
    expect(await readUsage(app, id)).toEqual([{ context: 'group', outcome: 'completed', model: 'mock-1' }])
  })

  test('is written in the requested thread, and its start and end are changes', async () => {
    const { id, editor, send, changes } = await room('editor')
    const { one: parent } = await send()
    const { position } = await changes(editor)

    await requestRoomAnswer(editor, id, 'And now?', { thread: parent.id })

    const { answer } = await waitForAnswer(editor, id)
    const { attributes } = (await editor.get(`/room-messages/${answer}`)).one
    expect(attributes).toMatchObject({ number: '1.001' })
    expect((await changes(editor, position)).changes.map(({ kind }) => kind)).toEqual([
      'room-disclosures.created',
      'room-messages.created',
      'room-messages.updated',
      'room-disclosures.updated',
    ])
  })

  test('is replaced by its asker and by administrators, and by nobody else', async () => {
    const { id, admin, editor, send } = await room('editor')
    await requestRoomAnswer(admin, id, 'First')
    const { answer } = await waitForAnswer(admin, id)
    const { one: own } = await send(editor)
    app.provider.behave = answers('Better.')

    expect((await requestRoomAnswer(editor, id, 'Again', { replaces: answer })).status).toBe(403)
    expect((await requestRoomAnswer(editor, id, 'Again', { replaces: own.id })).status).toBe(404)
    expect((await requestRoomAnswer(admin, id, 'Again', { replaces: answer, thread: answer })).status).toBe(422)
    expect((await requestRoomAnswer(admin, id, 'Again', { replaces: answer })).status).toBe(200)

    expect(await waitForAnswer(admin, id)).toMatchObject({ state: 'completed', answer })
    const { attributes } = (await admin.get(`/room-messages/${answer}`)).one
    expect(await openContent(attributes['content'])).toEqual({ text: 'Better.' })
    expect(attributes['editedAt']).not.toBeNull()
    expect(await listMessages(admin, id)).toHaveLength(2)
  })
})

describe('an answer in a room that is not whole', () => {
  const refusesAfter =
    (text: string): Behaviour =>
    (_, response) => {
      beginStream(response)
      if (text) response.write(buildChunk({ delta: { content: text } }))
      response.write(buildChunk({ delta: {}, finish_reason: 'content_filter' }))
      response.end('data: [DONE]\n\n')
    }
  const lengthens: Behaviour = (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'As long ' } }))
    response.end(buildChunk({ delta: {}, finish_reason: 'length' }))
  }
  const limit = { name: 'few', for: 'room', cap: 100_000, unit: 'tokens', per: 'month', mode: 'enforce' } as const
  const brief = { parameters: { maxTokens: 3 } }

  test.each<[string, Behaviour, string | null, string]>([
    ['a limit cuts', repeats('more'), 'limit_reached', 'length'],
    ['its provider refuses to finish', refusesAfter('I '), 'provider_refused', 'content-filter'],
    ['is as long as it may be', lengthens, null, 'length'],
  ])('is kept as far as it came, and says so, where %s it', async (_, behave, error, finish) => {
    const { id, admin, viewer } = await room('viewer')
    await app.svc.host.limits.set(limit)
    app.provider.behave = behave

    await requestRoomAnswer(admin, id, 'Tell me', brief)

    const disclosure = await waitForAnswer(viewer, id)
    await app.svc.host.limits.remove({ name: limit.name })
    expect(disclosure).toMatchObject({ state: 'completed', error, answer: expect.any(String) })
    const { attributes } = (await viewer.get(`/room-messages/${disclosure.answer}`)).one
    expect(attributes['metadata']).toMatchObject({ finish })
    expect((await openContent(attributes['content'])).text).toMatch(/^(more ){8,10}$|^I $|^As long $/)
  })

  test('replaces no earlier one, which is whole, and is none without a word', async () => {
    const { id, admin } = await room()
    await requestRoomAnswer(admin, id, 'First')
    const { answer } = await waitForAnswer(admin, id)
    await app.svc.host.limits.set(limit)

    app.provider.behave = repeats('more')
    await requestRoomAnswer(admin, id, 'Again', { replaces: answer, ...brief })
    expect(await waitForAnswer(admin, id)).toMatchObject({ state: 'failed', error: 'limit_reached', answer: null })
    app.provider.behave = refusesAfter('')
    await requestRoomAnswer(admin, id, 'Another')
    expect(await waitForAnswer(admin, id)).toMatchObject({ state: 'failed', error: 'provider_refused', answer: null })

    await app.svc.host.limits.remove({ name: limit.name })
    const { attributes } = (await admin.get(`/room-messages/${answer}`)).one
    expect(await openContent(attributes['content'])).toEqual({ text: 'Good day.' })
    expect(await listMessages(admin, id)).toHaveLength(1)
    await app.svc.services.ai.usageLedger.flush()
    expect((await readUsage(app, id)).map(({ outcome }) => outcome)).toEqual(['completed', 'cut', 'refused'])
  })
})

describe('nobody asks in a room', () => {
  test('as a viewer, a stranger or a guest, and nothing is recorded', async () => {
    const { id, admin, viewer } = await room('viewer')
    const stranger = await createPerson(app.svc as never)
    await app.svc.rows("update access_tokens set abilities = abilities || '{ai}' where user_id = $1", [stranger.id])
    const before = app.provider.requests.length

    expect((await requestRoomAnswer(viewer, id, 'Hello')).status).toBe(403)
    expect((await requestRoomAnswer(stranger, id, 'Hello')).status).toBe(404)
    expect((await requestRoomAnswer(createApiClient(app.svc), id, 'Hello')).status).toBe(401)

    expect((await stranger.get(`/rooms/${id}/actions/disclosures`)).status).toBe(404)
    expect((await createApiClient(app.svc).get(`/rooms/${id}/actions/disclosures`)).status).toBe(401)
    expect(await listDisclosures(admin, id)).toEqual([])
    expect(app.provider.requests).toHaveLength(before)
  })

  test.each([
    ['a key that is too short', { key: Buffer.alloc(31).toString('base64') }, 422, '/key'],
    ['a key that the room will get', { keyEpoch: 1 }, 422, '/keyEpoch'],
    ['a model that is not there', { model: 'none' }, 422, '/model'],
    ['a message to reply to that is not there', { thread: '999999' }, 404, '/thread'],
    [
      'a message that is not there',
      { messages: [buildUserMessage('Hello', { source: '999999' })] },
      404,
      '/messages/0/source',
    ],
  ])('with %s', async (_, more, status, pointer) => {
    const { id, admin } = await room()

    const answer = await requestRoomAnswer(admin, id, 'Hello', more)

    expect([answer.status, answer.errors.map(({ source }) => source?.['pointer'])]).toEqual([status, [pointer]])
    expect(await listDisclosures(admin, id)).toEqual([])
  })

  test('with the key of a former member', async () => {
    const { id, admin, editor } = await room('editor')
    const [member] = await app.svc.rows<{ id: number }>(
      'select id from room_members where room_id = $1 and user_id = $2',
      [id, editor.id],
    )
    expect((await admin.delete(`/room-members/${member?.id}`)).status).toBe(200)

    const answer = await requestRoomAnswer(admin, id, 'Hello')

    expect([answer.status, answer.errors[0]?.code]).toEqual([409, 'room_key_needed'])
    expect(await listDisclosures(admin, id)).toEqual([])
  })

  test('with a message of another room, or where the AI user is no member', async () => {
    const [{ id, admin }, other] = [await room(), await room()]
    const { one } = await other.send()

    expect(
      (await requestRoomAnswer(admin, id, '', { messages: [buildUserMessage('Hello', { source: one.id })] })).status,
    ).toBe(404)
    await app.svc.rows("update room_members set state = 'removed' where room_id = $1 and user_id = 1", [id])
    expect((await requestRoomAnswer(admin, id, 'Hello')).status).toBe(409)
  })

  test('by a program, unless the settings allow it; a browser may', async () => {
    await using closed = await startRoomAi({ ALLOW_EXTERNAL_APPS_GROUPS_AI: 'false' })
    const { id, admin } = await createAiRoom(closed)

    const answer = await requestRoomAnswer(admin, id, 'Hello')

    expect([answer.status, answer.errors[0]?.code]).toEqual([403, 'ai_in_rooms_off'])
    expect((await admin.get('/configs/extApp')).text).toContain('"aiInGroups":false')
    expect((await admin.get('/configs/ai')).text).toContain('"handle":"@svc"')
    const { browser } = await signIn(closed.svc, 'olga')
    const { body } = await browser.send('POST', '/req/room/createRoom', { body: { room_name: 'Chess' } })
    const { slug } = body['roomData'] as { slug: string }
    const payload = { model: 'mock-1', stream: false, messages: [{ role: 'user', content: { text: 'Hello' } }] }
    const question = { payload, broadcast: true, slug, key: KEY }
    expect((await browser.send('POST', `/req/room/streamAI/${slug}`, { body: question })).status).toBe(200)
  })
})
