import { createHmac } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { createClient } from '../../facades/client/index.ts'
import { embedsMeaning } from '../kit/ai/embedder.ts'
import {
  answers,
  type Behaviour,
  callsTools,
  type ProviderRequest,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { addAssistantWithKnowledge } from '../kit/assistants/answers.ts'
import { openClient } from '../kit/postgres-client.ts'
import {
  createAiRoom,
  type Disclosure,
  KEY,
  listDisclosures,
  openContent,
  readUsage,
  requestRoomAnswer,
  waitForAnswer,
} from '../kit/rooms/ai.ts'
import { shareResource } from '../kit/share-resource.ts'

const answersByMeaning: Behaviour = (received, response) =>
  (received.body['input'] ? embedsMeaning : answers('It stands in the garage [1].'))(received, response)

const isEmbedding = ({ body }: Pick<ProviderRequest, 'body'>, text: string) =>
  (body['input'] as string[] | undefined)?.includes(text) === true

/** Starts a service whose knowledge is searched by meaning, with a model that calls tools and one that does not. */
async function startSearching() {
  await using resources = new AsyncDisposableStack()
  const provider = resources.use(await startProvider(answersByMeaning))
  const models = [
    { id: 'toolless', label: 'Toolless', external: true, settings: { toolCalling: false } },
    { id: 'tools', label: 'Tools', external: true },
    { id: 'old', label: 'Old', modelType: 'embedding', external: true },
  ]
  const local = { id: 'local', adapter: 'openai-compatible', apiUrl: provider.url, apiKey: 'key', models }
  const hasty = { ...local, id: 'hasty', models: [{ ...models[0], id: 'hasty' }], timeouts: { total: '3s' } }
  const more = { providers: [local, hasty], systemModels: { default: 'toolless' } }
  const config = resources.use(await writeConfig(provider.url, { more }))
  const env = { AI_CONFIG: config.file, KNOWLEDGE_EMBEDDING_MODEL: 'old', ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true' }
  const svc = resources.use(await startApp(env))
  const disposables = resources.move()
  /** Counts the requests that embed a question. */
  const countEmbedded = (question: string) =>
    provider.requests.filter((received) => isEmbedding(received, question)).length
  return { svc, provider, countEmbedded, [Symbol.asyncDispose]: () => disposables.disposeAsync() }
}

const app = shareResource(startSearching)

beforeEach(() => {
  app.provider.behave = answersByMeaning
})

/** Knowledge that is too long to be given whole. */
async function addExpert(model = 'toolless') {
  const chapter = 'It tells of rivers, lakes and the weather of the mountains. '.repeat(20)
  const longText = Array.from({ length: 60 }, (_, at) => `# Chapter ${at}\n\n${chapter}`).join('\n\n')
  const files = { 'long.md': longText, 'car.md': 'My car stands in the garage.' }
  const expert = await addAssistantWithKnowledge(app.svc, files, { model })
  await expert.handbook.untilEmbedded()
  const { ai } = createClient({ url: app.svc.url, token: expert.asker.token })
  return { ...expert, ai }
}

const ask = (text: string) => [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]

test('the answer alone pays a search, and neither its reservation nor a count', async () => {
  const { ai, model } = await addExpert()
  const question = `Where is the automobile? ${model}`
  const messages = ask(question)

  const { inputTokens, estimated } = await ai.countTokens.mutate({ model, messages })
  const { reservations } = await ai.reserve.mutate({ models: [model, model], messages })
  expect(app.countEmbedded(question)).toBe(0)
  // The passages are not known yet, so the most that they may have is counted.
  expect([inputTokens > 3000, estimated]).toEqual([true, true])

  const text: string[] = []
  for await (const part of await ai.completeStream.mutate({ model, messages, reservation: reservations[0] }))
    if (part.type === 'delta') text.push(part.text)
  expect(text.join('')).toBe('It stands in the garage [1].')
  expect(app.countEmbedded(question)).toBe(1)
  expect(JSON.stringify(app.provider.requests.at(-1)?.body.messages.at(-1))).toMatch(/automobile.*\[1\] car\.md/)
})

test('a refused request searches nothing', async () => {
  const { ai, asker, model } = await addExpert()
  const question = `Where is the vehicle? ${model}`
  const [message] = ask(question)
  const content = [...(message?.content ?? []), { type: 'attachment' as const, id: '999999' }]

  await expect(ai.complete.mutate({ model, messages: [{ role: 'user', content }] })).rejects.toMatchObject({
    status: 422,
  })
  const limit = {
    name: `of ${asker.id}`,
    for: `user:${asker.username}`,
    cap: 1,
    unit: 'tokens',
    per: 'month',
    mode: 'enforce',
  }
  await app.svc.host.limits.set(limit as never)
  await expect(ai.complete.mutate({ model, messages: ask(question) })).rejects.toMatchObject({ status: 429 })
  expect(app.countEmbedded(question)).toBe(0)
})

test('a search that hangs ends with the time of the answer', async () => {
  const { ai, model } = await addExpert('hasty')
  await using client = await openClient(app.svc.env.DATABASE_URL)
  await client.query('begin; lock table knowledge_terms in access exclusive mode')

  await expect(ai.complete.mutate({ model, messages: ask('Where is it?') })).rejects.toThrow('did not answer')
})

const hashText = (text: string) => ({
  bytes: text.length,
  hash: createHmac('sha256', Buffer.from(KEY, 'base64')).update(text).digest('base64url'),
})

test('a room is told of a search before the embedding model reads it', async () => {
  const { model } = await addExpert()
  const { id, admin, editor } = await createAiRoom(app, ['editor'])
  const question = `Where is the automobile? ${model}`
  let seen: Disclosure[] = []
  app.provider.behave = async (received, response) => {
    if (isEmbedding(received, question)) seen = await listDisclosures(editor, id)
    await answersByMeaning(received, response)
  }

  expect((await requestRoomAnswer(admin, id, question, { model })).status).toBe(200)
  const disclosure = await waitForAnswer(editor, id)
  const embedding = { provider: disclosure.provider, model: 'old' }
  expect(seen).toMatchObject([
    { state: 'answering', knowledge: { embedding, searches: [hashText(question)], passages: 0 } },
  ])
  expect(app.countEmbedded(question)).toBe(1)
  expect(JSON.stringify(app.provider.requests.at(-1)?.body.messages.at(-1))).toContain('[1] car.md')
  // The passages are nothing of the room, so the hash is that of the question.
  expect(disclosure).toMatchObject({
    model: 'toolless',
    state: 'completed',
    parts: [{ role: 'user', ...hashText(question) }],
    knowledge: { embedding, searches: [hashText(question)], passages: expect.any(Number) },
  })
  expect(disclosure.knowledge?.passages).toBeGreaterThan(0)
  const answer = (await editor.get(`/room-messages/${disclosure.answer}`)).one.attributes
  const { text, citations } = await openContent(answer['content'])
  expect(text).toBe('It stands in the garage [1].')
  expect(citations).toMatchObject([{ title: 'car.md', passage: { path: 'car.md', number: 1 } }])
  await app.svc.services.ai.usageLedger.flush()
  // The room's limits count what the search has cost.
  expect((await readUsage(app, id)).map((record) => record.model).toSorted()).toEqual(['old', 'toolless'])
})

test('a room is told of each search by a model and its passages', async () => {
  const { model } = await addExpert('tools')
  const { id, admin, editor } = await createAiRoom(app, ['editor'])
  const queries = [`an automobile ${model}`, `a vehicle ${model}`]
  const calls = queries.map((query) => ({ name: 'knowledge_search', input: JSON.stringify({ query }) }))
  const chats = callsTools(calls, 'It stands in the garage [1].')
  app.provider.behave = (received, response) => (received.body['input'] ? embedsMeaning : chats)(received, response)

  await requestRoomAnswer(admin, id, 'Where is it?', { model })
  const { knowledge, state } = await waitForAnswer(editor, id)
  expect(state).toBe('completed')
  expect(knowledge?.searches).toEqual(expect.arrayContaining(queries.map(hashText)))
  expect(knowledge?.searches).toHaveLength(2)
  const results = app.provider.requests.at(-1)?.body.messages.filter(({ role }) => role === 'tool')
  const numbers = new Set(JSON.stringify(results).match(/\[\d+\] (?=car|long)/g))
  expect(knowledge?.passages).toBe(numbers.size)
})

test('a search beyond the thirty of an answer embeds nothing and says so', async () => {
  const { asker, model } = await addExpert('tools')
  const queries = Array.from({ length: 31 }, (_, at) => `an automobile ${at} of ${model}`)
  // Passages of a large file would use up what a model reads before.
  const search = (query: string) => ({ name: 'knowledge_search', input: JSON.stringify({ query, file: 'car.md' }) })
  const chats = callsTools(queries.map(search), 'It stands in the garage.')
  app.provider.behave = (received, response) => (received.body['input'] ? embedsMeaning : chats)(received, response)

  const body = { model, messages: [{ role: 'user', content: 'Where is it?' }] }
  expect((await app.svc.send('POST', '/v1/chat/completions', { token: asker.token, body })).status).toBe(200)
  expect(queries.filter((query) => app.countEmbedded(query) > 0)).toHaveLength(30)
  const messages = app.provider.requests.at(-1)?.body.messages ?? []
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.stringify(content))
  expect(results.filter((result) => result.includes('No more can be read for this answer.'))).toHaveLength(1)
})

test('small knowledge discloses its passages, and no embedding model', async () => {
  const files = { 'car.md': 'My car stands in the garage.', 'boat.md': 'My boat lies in the harbour.' }
  const { model } = await addAssistantWithKnowledge(app.svc, files, { model: 'tools' })
  const { id, admin, editor } = await createAiRoom(app, ['editor'])

  await requestRoomAnswer(admin, id, 'Where is the car?', { model })
  expect((await waitForAnswer(editor, id)).knowledge).toEqual({ embedding: null, searches: [], passages: 2 })
  await requestRoomAnswer(admin, id, 'Where is the car?', { model: 'tools' })
  expect((await waitForAnswer(editor, id)).knowledge).toBeNull()
})

test('people who may use an assistant see from which files it may quote', async () => {
  const { asker, handle, owner } = await addExpert()
  const read = async (token: string) => {
    const input = encodeURIComponent(JSON.stringify({ handle }))
    const response = await app.svc.send('GET', `/trpc/assistants.get?input=${input}`, { token })
    return (await response.json()) as { result?: { data: { knowledge: unknown } } }
  }
  const knowledge = { name: 'Handbook', embedding: 'old' }
  expect((await read(asker.token)).result?.data.knowledge).toEqual(knowledge)
  await owner.call('share', { handle, audience: 'private' })
  expect((await read(asker.token)).result).toBeUndefined()
})
