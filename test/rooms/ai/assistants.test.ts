import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { answers } from '../../kit/ai/provider.ts'
import { addPerson, buildContent } from '../../kit/assistants/people.ts'
import { createApiClient } from '../../kit/json-api/client.ts'
import {
  createAiRoom,
  KEY,
  listDisclosures,
  openContent,
  requestRoomAnswer,
  startRoomAi,
  waitForAnswer,
} from '../../kit/rooms/ai.ts'
import { shareResource } from '../../kit/share-resource.ts'

const app = shareResource(startRoomAi)

/** A room with an editor, and an assistant that its administrator alone may use. */
async function createRoomWithAssistant() {
  app.provider.behave = answers('Good day.')
  const room = await createAiRoom(app, ['editor'])
  const owner = await addPerson(app.svc)
  const handle = `librarian-${owner.id}`
  await owner.create(handle)
  await app.svc.host.admin.setGroups({ user: { id: room.admin.id }, groups: ['staff'] })
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  return { ...room, owner, handle, model: `assistant/${handle}` }
}

test('an assistant answers in a room, whose disclosure names version and model', async () => {
  const { id, admin, editor, owner, handle, model } = await createRoomWithAssistant()
  await owner.call('save', {
    handle,
    content: buildContent({ systemPrompt: 'Answer as an archivist.' }),
    publish: true,
  })
  const text = 'Where are the maps?'
  const messages = [
    { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
    { role: 'user', content: [{ type: 'text', text }] },
  ]

  expect((await requestRoomAnswer(admin, id, '', { model, messages })).status).toBe(200)
  const disclosure = await waitForAnswer(editor, id)
  expect(disclosure).toMatchObject({ assistant: `${handle}@2`, model: 'mock-1', state: 'completed' })
  const sent = app.provider.requests.at(-1)?.body.messages.map(({ content }) => content)
  expect(sent).toEqual([expect.stringMatching(/^Answer as an archivist\.\s+Be brief\.$/), text])
  // What is disclosed of the room are its messages, and not the instructions of the assistant.
  const hash = createHmac('sha256', Buffer.from(KEY, 'base64')).update(text).digest('base64url')
  expect(disclosure.parts).toMatchObject([
    { role: 'system', bytes: 9 },
    { role: 'user', bytes: text.length, hash },
  ])

  const answer = (await editor.get(`/room-messages/${disclosure.answer}`)).one.attributes
  expect(answer).toMatchObject({ model: 'mock-1', metadata: { assistant: `${handle}@2` } })
  expect(await openContent(answer['content'])).toEqual({ text: 'Good day.' })
  await app.svc.services.ai.usageLedger.flush()
  const used = await app.svc.rows('select assistant, model, context from usage_records where room_id = $1', [id])
  expect(used).toEqual([{ assistant: `${handle}@2`, model: 'mock-1', context: 'group' }])
  await requestRoomAnswer(admin, id, 'Again', { model: `${model}@1` })
  expect(await waitForAnswer(editor, id)).toMatchObject({ assistant: `${handle}@1` })
})

test('a member who may not ask an assistant finds none', async () => {
  const { id, admin, editor, owner, handle, model } = await createRoomWithAssistant()
  await requestRoomAnswer(admin, id, 'Hello', { model })
  const { answer } = await waitForAnswer(admin, id)
  const ask = async (name: string) => {
    const { status, errors } = await requestRoomAnswer(editor, id, 'Hello', { model: name })
    return { status, errors: errors?.map(({ code, detail }: { code?: string; detail?: string }) => ({ code, detail })) }
  }
  const before = app.provider.requests.length

  const refused = await ask(model)
  expect(refused).toMatchObject({
    status: 403,
    errors: [{ detail: expect.stringContaining('may not ask this assistant') }],
  })
  expect(await ask('assistant/never-was')).toEqual(refused)
  expect(await ask(`${model}@1`)).toEqual(refused)
  expect(app.provider.requests.length).toBe(before)
  expect(await listDisclosures(editor, id)).toHaveLength(1)
  const { attributes } = (await editor.get(`/room-messages/${answer}`)).one
  expect(await openContent(attributes['content'])).toEqual({ text: 'Good day.' })

  await owner.shareWithAll(handle)
  expect((await ask(model)).status).toBe(200)
})

test('a token that is bound to models asks no other one in a room', async () => {
  const { id, admin, model } = await createRoomWithAssistant()
  const bind = async (name: string) => {
    const abilities = ['ai', 'read', 'write'] as const
    const grant = { user: { id: admin.id }, name: 'bound', abilities: [...abilities], models: [name] }
    return createApiClient(app.svc, (await app.svc.host.tokens.createFor(grant)).token)
  }
  const [toModel, toAssistant] = [await bind('mock-1'), await bind(model)]
  const before = app.provider.requests.length

  const refused = [
    await requestRoomAnswer(toModel, id, 'Hello', { model }),
    await requestRoomAnswer(toAssistant, id, 'Hello', { model: 'mock-1' }),
  ]
  expect(refused.map(({ status }) => status)).toEqual([403, 422])
  expect([app.provider.requests.length, await listDisclosures(admin, id)]).toEqual([before, []])
  expect((await requestRoomAnswer(toModel, id, 'Hello')).status).toBe(200)
  expect(await waitForAnswer(admin, id)).toMatchObject({ model: 'mock-1', assistant: null })
  expect((await requestRoomAnswer(toAssistant, id, 'Hello', { model })).status).toBe(200)
  await expect.poll(() => listDisclosures(admin, id)).toHaveLength(2)
  expect(await waitForAnswer(admin, id)).toMatchObject({ model: 'mock-1', assistant: expect.stringMatching(/@1$/) })
})

test("an assistant can't have the name of a person or the model", async () => {
  const owner = await addPerson(app.svc)
  const { username } = await addPerson(app.svc)

  for (const handle of [username, 'svc'])
    expect(await owner.create(handle), handle).toMatchObject({ status: 409, problem: 'conflict' })
  const taken = `taken-${owner.id}`
  await owner.create(taken)
  // A person of that name may come later.
  expect(await app.svc.user({ username: taken })).toMatchObject({ username: taken })
  expect((await owner.call('save', { handle: taken, content: buildContent({ name: 'Other' }) })).status).toBe(200)
})
