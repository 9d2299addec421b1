import { beforeAll, expect, test } from 'vitest'
import { createClient } from '../../facades/client/index.ts'
import { startApp, type TestApp } from '../kit/app.ts'

/** The content that a browser sends, opaque ciphertext for the service. */
const content = 'aXY=|dGFn|dGV4dA=='
const createdAt = '2024-03-01T10:00:00.000Z'
const updatedAt = '2024-03-02T10:00:00.000Z'
const question = { role: 'user' as const, content, parent: 0, createdAt }
const answer = { role: 'assistant' as const, model: 'gpt-4', content, parent: 1, createdAt: updatedAt }

let svc: TestApp
beforeAll(async () => {
  svc = await startApp({ CONVERSATIONS_PER_PERSON: '3', CONVERSATION_MAX_MESSAGES: '5' })
  return () => svc[Symbol.asyncDispose]()
})

async function person() {
  const { token } = await svc.user({ abilities: ['read', 'write'] })
  const { conversations } = createClient({ url: svc.url, token })
  const head = (importId: string) => ({ importId, name: `From ${importId}`, createdAt, updatedAt })
  const names = async () => (await conversations.list.query({})).data.map(({ name }) => name)
  return { conversations, head, names }
}

test('an imported conversation keeps its times and what follows what, and is stored once', async () => {
  const { conversations, head } = await person()
  const given = { ...head('a'), sealedName: content, messages: [question, answer, { ...answer, isComplete: false }] }

  const { slug, isNew } = await conversations.import.mutate(given)
  const again = await conversations.import.mutate({ ...given, name: 'Another name' })

  expect([isNew, again]).toEqual([true, { slug, isNew: false }])
  expect(await conversations.get.query({ slug })).toMatchObject({
    name: 'From a',
    sealedName: content,
    messageCount: 3,
    createdAt,
    updatedAt,
  })
  const { data } = await conversations.messages.query({ slug })
  expect(data.map(({ number, parent, role, model, isComplete }) => [number, parent, role, model, isComplete])).toEqual([
    ['1.000', 0, 'user', null, true],
    ['2.000', 1, 'assistant', 'gpt-4', true],
    ['3.000', 1, 'assistant', 'gpt-4', false],
  ])
  expect(data.map((message) => message.createdAt)).toEqual([createdAt, updatedAt, updatedAt])
  expect((await conversations.sendMessage.mutate({ slug, content })).number).toBe('4.000')
})

test('a conversation imported in parts appears when complete, and each part counts once', async () => {
  const { conversations, head, names } = await person()
  const first = { ...head('parts'), messages: [question, answer], isWhole: false }
  const last = { ...head('parts'), after: 2, messages: [{ ...question, parent: 2 }] }

  await conversations.import.mutate(first)
  await conversations.import.mutate(first)
  expect(await names()).toEqual([])
  await expect(conversations.import.mutate({ ...last, after: 3 })).rejects.toMatchObject({
    issues: [{ path: ['after'] }],
  })
  const { slug } = await conversations.import.mutate(last)

  expect(await names()).toEqual(['From parts'])
  expect(await conversations.get.query({ slug })).toMatchObject({ messageCount: 3 })
})

test('a conversation whose import ends halfway is deleted with what is thrown away', async () => {
  const { conversations, head } = await person()
  await conversations.import.mutate({ ...head('half'), messages: [question], isWhole: false })

  await svc.rows("update conversations set discarded_at = now() - interval '2 minutes' where import_id = 'half'")
  await svc.host.conversations.deleteDiscarded()

  expect(await conversations.quota.query()).toMatchObject({ conversations: { kept: 0, most: 3 }, messages: 5 })
  expect(await conversations.import.mutate({ ...head('half'), messages: [question, answer] })).toMatchObject({
    isNew: true,
  })
})

test('an import keeps to the bounds of a person, and names what is wrong', async () => {
  const { conversations, head, names } = await person()
  const { conversations: others, names: namesOfOthers } = await person()
  const refused = (change: object) =>
    conversations.import.mutate({ ...head('wrong'), messages: [question], ...change }).then(
      () => undefined,
      ({ code, message, issues }) => [code, issues[0]?.message ?? message],
    )

  expect(await refused({ messages: [{ ...question, parent: 1 }] })).toEqual([
    'invalid',
    expect.stringContaining('earlier'),
  ])
  expect(await refused({ messages: [{ ...question, content: 'in clear text' }] })).toMatchObject([
    'invalid',
    expect.stringContaining('base64'),
  ])
  expect(await refused({ messages: Array(6).fill(question) })).toEqual([
    'quota_reached',
    expect.stringContaining('5 messages'),
  ])
  for (const id of ['1', '2', '3']) await conversations.import.mutate({ ...head(id), messages: [question] })
  expect(await refused({})).toEqual(['quota_reached', expect.stringContaining('3 conversations')])
  await others.import.mutate({ ...head('1'), messages: [question], updatedAt: '2999-01-01T00:00:00.000Z' })

  expect((await names()).length).toBe(3)
  expect(await namesOfOthers()).toEqual(['From 1'])
  const [{ updatedAt: changed } = { updatedAt: '' }] = (await others.list.query({})).data
  expect(Date.parse(changed)).toBeLessThanOrEqual(Date.now() + 60_000)
})
