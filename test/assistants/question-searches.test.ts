import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { createClient } from '../../facades/client/index.ts'
import { embedsMeaning } from '../kit/ai/embedder.ts'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { addAssistantWithKnowledge } from '../kit/assistants/answers.ts'
import { createAiRoom, KEY, openContent, requestRoomAnswer, waitForAnswer } from '../kit/rooms/ai.ts'
import { shareResource } from '../kit/share-resource.ts'

const TIMEOUT = { timeout: 120_000 }

/** Starts a service whose knowledge is searched by meaning, with a model that calls no tools. */
async function startSearching() {
  await using resources = new AsyncDisposableStack()
  const provider = resources.use(
    await startProvider((received, response) =>
      (received.body['input'] ? embedsMeaning : answers('It stands in the garage [1].'))(received, response),
    ),
  )
  const models = [
    { id: 'toolless', label: 'Toolless', external: true, settings: { toolCalling: false } },
    { id: 'old', label: 'Old', modelType: 'embedding', external: true },
  ]
  const config = resources.use(
    await writeConfig(provider.url, { provider: { models }, more: { systemModels: { default: 'toolless' } } }),
  )
  const env = { AI_CONFIG: config.file, KNOWLEDGE_EMBEDDING_MODEL: 'old', ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true' }
  const svc = resources.use(await startApp(env))
  const disposables = resources.move()
  /** Counts the requests that embed a question. */
  const countEmbedded = (question: string) =>
    provider.requests.filter(({ body }) => (body['input'] as string[] | undefined)?.includes(question)).length
  return { svc, provider, countEmbedded, [Symbol.asyncDispose]: () => disposables.disposeAsync() }
}

const app = shareResource(startSearching)

/** Knowledge that is too long to be given whole. */
async function addExpert() {
  const chapter = 'It tells of rivers, lakes and the weather of the mountains. '.repeat(20)
  const longText = Array.from({ length: 60 }, (_, at) => `# Chapter ${at}\n\n${chapter}`).join('\n\n')
  const files = { 'long.md': longText, 'car.md': 'My car stands in the garage.' }
  const expert = await addAssistantWithKnowledge(app.svc, files, { model: 'toolless' })
  await expert.handbook.untilEmbedded()
  const { ai } = createClient({ url: app.svc.url, token: expert.asker.token })
  return { ...expert, ai }
}

const ask = (text: string) => [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]

test('a search is paid once, by the answer and neither its reservation nor a count', TIMEOUT, async () => {
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

test('a refused request searches nothing', TIMEOUT, async () => {
  const { ai, model } = await addExpert()
  const question = `Where is the vehicle? ${model}`
  const [message] = ask(question)
  const content = [...(message?.content ?? []), { type: 'attachment' as const, id: '999999' }]

  await expect(ai.complete.mutate({ model, messages: [{ role: 'user', content }] })).rejects.toMatchObject({
    status: 422,
  })
  expect(app.countEmbedded(question)).toBe(0)
})

test('in a room no model reads the question but the disclosed one', TIMEOUT, async () => {
  const { model } = await addExpert()
  const { id, admin, editor } = await createAiRoom(app, ['editor'])
  const question = `In which garage is the car? ${model}`

  expect((await requestRoomAnswer(admin, id, question, { model })).status).toBe(200)
  const disclosure = await waitForAnswer(editor, id)
  expect(app.countEmbedded(question)).toBe(0)
  expect(JSON.stringify(app.provider.requests.at(-1)?.body.messages.at(-1))).toContain('[1] car.md')
  // The passages are nothing of the room, so the hash is that of the question.
  const hash = createHmac('sha256', Buffer.from(KEY, 'base64')).update(question).digest('base64url')
  expect(disclosure).toMatchObject({ model: 'toolless', state: 'completed', parts: [{ role: 'user', hash }] })
  const answer = (await editor.get(`/room-messages/${disclosure.answer}`)).one.attributes
  const { text, citations } = await openContent(answer['content'])
  expect(text).toBe('It stands in the garage [1].')
  expect(citations).toMatchObject([{ title: 'car.md', passage: { path: 'car.md', number: 1 } }])
})
