import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { beforeEach, expect, test } from 'vitest'
import { answers, buildQuestion, embeds, refuses } from '../kit/ai/provider.ts'
import { startWithProvider, streamHeaders } from '../kit/ai/provider-service.ts'
import { startApp } from '../kit/app.ts'
import { addPerson, buildContent, callAssistants } from '../kit/assistants/people.ts'
import { signIn } from '../kit/browser.ts'
import { shareResource } from '../kit/share-resource.ts'
import { watchStatements } from '../kit/statements.ts'

const TEXT = 'Good day to you.'
const tools = ['weather', 'patient']
const models = [
  ...['mock-1', 'mock-2', 'mock-3', 'mock-4'].map((id) => ({ id, label: id, external: true, tools })),
  { id: 'mock-embedding', label: 'Embedding', external: true, modelType: 'embedding' },
  { id: 'mock-main', label: 'For people alone' },
]
const settings = {
  APP_KEY: 'k'.repeat(48),
  EXTENSIONS: 'test/fixtures/extension.ts',
  RETENTION_USAGE_MONTHS: '2',
}
const app = shareResource(() => startWithProvider(answers(TEXT), { models }, settings))
beforeEach(() => app.answerBy(answers(TEXT)))
const statements = watchStatements()

/** A person with an assistant that all may ask, and another person. */
async function createPeople(content: object = {}) {
  const [owner, asker] = [await addPerson(app.svc), await addPerson(app.svc)]
  const handle = `helper-${owner.id}`
  expect(await owner.create(handle, content)).toMatchObject({ status: 200 })
  await owner.shareWithAll(handle)
  return { owner, asker, handle, model: `assistant/${handle}` }
}

const content = 'How do you do?'
const clients = ({ token: apiKey }: { token: string }) => ({
  openai: new OpenAI({ apiKey, baseURL: `${app.svc.url}/v1`, maxRetries: 0 }),
  anthropic: new Anthropic({ apiKey, baseURL: app.svc.url, maxRetries: 0 }),
})

const complete = (token: string, model: string, more: object = {}) =>
  app.svc.send('POST', '/v1/chat/completions', {
    token,
    body: { model, messages: [{ role: 'user', content }], ...more },
  })

/** The messages that the provider got last, by role and text. */
const sentMessages = () =>
  app.upstream.requests
    .at(-1)
    ?.body.messages.map(({ role, content }) => [
      role,
      typeof content === 'string' ? content : (content as { text: string }[]).map(({ text }) => text).join('|'),
    ])

test('unmodified clients get whole and streamed answers of an assistant on three APIs', async () => {
  const { asker, model } = await createPeople()
  const { openai, anthropic } = clients(asker)
  const messages = [{ role: 'user' as const, content }]
  const question = { model, max_tokens: 100, messages }

  const completion = await openai.chat.completions.create({ model, messages })
  expect([completion.model, completion.choices[0]?.message.content]).toEqual([model, TEXT])
  const chunks: string[] = []
  for await (const { choices } of await openai.chat.completions.create({ model, messages, stream: true }))
    chunks.push(choices[0]?.delta.content ?? '')
  expect(chunks.join('')).toBe(TEXT)
  const response = await openai.responses.create({ model, input: content })
  expect([response.model, response.output_text]).toEqual([model, TEXT])
  const stream = openai.responses.stream({ model, input: content })
  expect((await stream.finalResponse()).output_text).toBe(TEXT)
  const message = await anthropic.messages.create(question)
  expect([message.model, message.content]).toEqual([model, [expect.objectContaining({ text: TEXT })]])
  expect(await anthropic.messages.stream(question).finalText()).toBe(TEXT)

  expect(app.upstream.requests.map(({ body }) => body.model)).toEqual(Array(6).fill('mock-1'))
  expect(app.upstream.requests.every(({ sent }) => sent.includes('Answer as a librarian.'))).toBe(true)
  expect((await anthropic.messages.countTokens({ model, messages })).input_tokens).toBeGreaterThan(10)
})

test('the legacy address answers as an assistant, whole and streamed', async () => {
  const { asker, model, handle } = await createPeople()
  const ask = (headers: Record<string, string> = {}) =>
    app.svc.send('POST', '/api/ai-req', { token: asker.token, headers, body: buildQuestion(content, model) })

  expect(await (await ask()).json()).toMatchObject({ success: true, content: { text: TEXT } })
  const streamed = await (await ask(streamHeaders)).text()
  expect(streamed).toContain('event: done')
  expect(streamed).toContain(`"assistant":"${handle}@1"`)
  expect(sentMessages()).toEqual([
    ['system', 'Answer as a librarian.'],
    ['user', content],
  ])
})

test("instructions of the caller stand after the assistant's", async () => {
  const { asker, model } = await createPeople()
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content },
  ]

  expect((await complete(asker.token, model, { messages })).status).toBe(200)
  const sent = (more: string) => [
    ['system', `Answer as a librarian.\n\n${more}`],
    ['user', content],
  ]
  expect(sentMessages()).toEqual(sent('Be brief.'))
  const { anthropic } = clients(asker)
  await anthropic.messages.create({ model, max_tokens: 9, system: 'Be kind.', messages: [{ role: 'user', content }] })
  expect(sentMessages()).toEqual(sent('Be kind.'))
})

test("the assistant's parameters win and are named, and bound the length of answers", async () => {
  const { asker, model } = await createPeople({ parameters: { temperature: 0.2, maxTokens: 50 } })

  const replaced = await complete(asker.token, model, { temperature: 1, max_tokens: 900, top_p: 0.5 })
  expect(replaced.headers.get('x-ignored-parameters')?.split(/, ?/).sort()).toEqual(['max_tokens', 'temperature'])
  expect(app.upstream.requests.at(-1)?.body).toMatchObject({ temperature: 0.2, max_tokens: 50, top_p: 0.5 })
  const kept = await complete(asker.token, model, { temperature: 0.2, max_tokens: 7 })
  expect(kept.headers.get('x-ignored-parameters')).toBeNull()
  expect(app.upstream.requests.at(-1)?.body).toMatchObject({ temperature: 0.2, max_tokens: 7 })
})

test("an assistant gives its tools, and the caller's functions are added", async () => {
  const own = { type: 'function', function: { name: 'own', parameters: { type: 'object', properties: {} } } }
  const readTools = async (toolsOfAssistant: string[] | null, sent: unknown[] | undefined) => {
    const { asker, model } = await createPeople({ tools: toolsOfAssistant })
    expect((await complete(asker.token, model, { tools: sent })).status).toBe(200)
    const received = app.upstream.requests.at(-1)?.body.tools as { function: { name: string } }[] | undefined
    return received?.map(({ function: { name } }) => name)
  }

  expect(await readTools(null, undefined)).toEqual(['weather', 'patient'])
  expect(await readTools([], undefined)).toBeUndefined()
  expect(await readTools(['patient', 'no-such-tool'], [own])).toEqual(['patient', 'own'])
  expect(await readTools(['capability:forecast:auto'], ['patient'])).toEqual(['weather', 'patient'])
})

test('an assistant is shared, changed and withdrawn at once in every replica', async () => {
  const { owner, asker, handle, model } = await createPeople()
  const { DATABASE_URL = '', AI_CONFIG = '' } = app.svc.env
  await using other = await startApp({ ...settings, DATABASE_URL, AI_CONFIG })
  const ask = async () => {
    const body = { model, messages: [{ role: 'user', content }] }
    return (await other.send('POST', '/v1/chat/completions', { token: asker.token, body })).status
  }

  expect(await ask()).toBe(200)
  await owner.call('save', { handle, content: buildContent({ systemPrompt: 'Second.' }), publish: true })
  expect([await ask(), sentMessages()?.[0]?.[1]]).toEqual([200, 'Second.'])
  await owner.call('publish', { handle, version: 1 })
  expect([await ask(), sentMessages()?.[0]?.[1]]).toEqual([200, 'Answer as a librarian.'])
  await owner.call('share', { handle, audience: 'private' })
  expect(await ask()).toBe(404)
  await owner.call('share', { handle, audience: 'private', editors: [asker.username] })
  expect(await ask()).toBe(200)
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  expect(await ask()).toBe(404)
  await app.svc.host.admin.setGroups({ user: { id: asker.id }, groups: ['staff'] })
  expect(await ask()).toBe(200)
  await app.svc.host.admin.removeUser({ user: { id: owner.id } })
  expect(await ask()).toBe(404)
  const changes = await app.svc.rows<{ subject: string }>(
    `select distinct subject from change_log where stream = 'all' and kind like 'assistants.%'`,
  )
  expect(changes).toEqual([{ subject: '*' }])
})

test('a named version outlives a later one, and drafts answer editors only', async () => {
  const { owner, asker, handle, model } = await createPeople()
  await owner.call('save', { handle, content: buildContent({ systemPrompt: 'Second.' }), publish: true })
  await owner.call('save', { handle, content: buildContent({ systemPrompt: 'Draft.' }) })
  const readPrompt = async (token: string, name: string) => {
    app.upstream.requests.length = 0
    const { status } = await complete(token, name)
    return status === 200 ? sentMessages()?.[0]?.[1] : status
  }

  expect(await readPrompt(asker.token, model)).toBe('Second.')
  expect(await readPrompt(asker.token, `${model}@1`)).toBe('Answer as a librarian.')
  expect(await readPrompt(asker.token, `${model}@3`)).toBe(404)
  expect(await readPrompt(owner.token, `${model}@3`)).toBe('Draft.')
  expect(await readPrompt(owner.token, `${model}@4`)).toBe(404)
})

/** The addresses that name a chat model, with a request for one. */
const buildRequests = (model: string): [string, object][] => [
  ['/v1/chat/completions', { model, messages: [{ role: 'user', content }] }],
  ['/v1/responses', { model, input: content }],
  ['/v1/messages', { model, max_tokens: 9, messages: [{ role: 'user', content }] }],
  ['/v1/messages/count_tokens', { model, messages: [{ role: 'user', content }] }],
  ['/api/ai-req', buildQuestion(content, model)],
]

/** Sends requests, and returns each status and body without what differs from request to request. */
const readAnswers = (token: string | undefined, requests: [string, object][]) =>
  Promise.all(
    requests.map(async ([path, body]) => {
      const response = await app.svc.send('POST', path, { token, body })
      const text = await response.text()
      return [
        response.status,
        text.replaceAll(response.headers.get('request-id') ?? '-', '').replaceAll(/[\w-]{21,}/g, ''),
      ] as const
    }),
  )

const read = (token: string | undefined, name: string) => readAnswers(token, buildRequests(name))

test('an assistant of others is answered byte for byte like a missing one', async () => {
  const { owner, asker, handle } = await createPeople()
  await owner.call('share', { handle, audience: 'private' })
  const neverWas = handle.replace('helper', 'nobody')
  const admin = await app.svc.user({ role: 'admin' })
  for (const { token } of [asker, admin])
    for (const suffix of ['', '@1', '@2']) {
      const others = await read(token, `assistant/${handle}${suffix}`)
      expect(others).toEqual(await read(token, `assistant/${neverWas}${suffix}`))
      expect(others.map(([status]) => status)).toEqual([404, 404, 404, 404, 422])
    }
  expect((await read(undefined, `assistant/${handle}`)).map(([status]) => status)).toEqual([401, 401, 401, 401, 401])
  expect(app.upstream.requests).toEqual([])
})

test('the list of models has just the assistants that a caller may ask', async () => {
  const { owner, asker, handle, model } = await createPeople()
  const list = async ({ token }: { token: string }) => {
    const { data } = await clients({ token }).openai.models.list()
    return data.filter(({ id }) => id === model)
  }

  expect(await list(asker)).toMatchObject([{ id: model, object: 'model', owned_by: 'assistants' }])
  expect(await clients(asker).openai.models.retrieve(model)).toMatchObject({ id: model })
  expect((await clients(asker).anthropic.models.list({ limit: 1000 })).data.map(({ id }) => id)).toContain(model)
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  expect(await list(asker)).toEqual([])
  expect(await list(owner)).toHaveLength(1)
  await app.svc.host.admin.setGroups({ user: { id: asker.id }, groups: ['staff'] })
  expect(await list(asker)).toHaveLength(1)
})

test('who loses the group of an assistant is refused from the next request on', async () => {
  const { owner, asker, handle, model } = await createPeople()
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  const setGroups = (groups: string[]) => app.svc.host.admin.setGroups({ user: { id: asker.id }, groups })

  expect((await complete(asker.token, model)).status).toBe(404)
  await setGroups(['staff'])
  expect((await complete(asker.token, model)).status).toBe(200)
  await setGroups([])
  expect((await complete(asker.token, model)).status).toBe(404)
})

test('a model that is off is replaced by the fallback, which the response names', async () => {
  const switchModel = (isOn: boolean) =>
    app.svc.changeCatalogue(`update ai_models set active = ${isOn} where model_id = 'mock-3'`)
  await switchModel(true)
  const { asker, model } = await createPeople({ model: 'mock-3', fallback: ['mock-2'] })
  const { model: lonely } = await createPeople({ model: 'mock-3' })
  expect((await complete(asker.token, model)).headers.get('x-answered-by')).toBeNull()
  await switchModel(false)

  const response = await complete(asker.token, model)
  expect([response.status, response.headers.get('x-answered-by')]).toEqual([200, 'mock-2'])
  expect(await response.json()).toMatchObject({ model })
  expect((await complete(asker.token, lonely)).status).toBe(404)
})

test('a fallback of the assistant answers where the provider fails', async () => {
  const { asker, model } = await createPeople({ fallback: ['mock-2'] })
  app.upstream.behave = ({ body, ...received }, response) =>
    body.model === 'mock-1'
      ? refuses(401)({ body, ...received }, response)
      : answers(TEXT)({ body, ...received }, response)

  const response = await complete(asker.token, model)
  expect([response.status, response.headers.get('x-answered-by')]).toEqual([200, 'mock-2'])
})

test('a call by an assistant takes no statement more than one by its model', async () => {
  const { asker, model } = await createPeople()
  const count = async (name: string, token = asker.token) => {
    const counts: number[] = []
    // Work of other calls may run beside one of them.
    for (let call = 0; call < 5; call++) {
      statements.take()
      expect((await complete(token, name)).status).toBe(200)
      counts.push(statements.take().length)
    }
    return Math.min(...counts)
  }

  const byModel = await count('mock-1')
  expect(await count(model)).toBe(byModel)
  expect(await count(model, (await bind(asker, model)).token)).toBe(byModel)
})

test('calls by an assistant count for limits of its model and person', async () => {
  const { asker, handle, model } = await createPeople({ model: 'mock-2' })
  const limit = { for: `user:${asker.username}`, cap: 1, unit: 'requests', per: 'month', confirm: true } as const
  await app.svc.host.limits.set({ name: `of-${asker.id}`, ...limit })
  await app.svc.host.limits.set({ name: 'of-model', ...limit, for: 'model:mock-2' })

  expect((await complete(asker.token, model)).status).toBe(200)
  expect((await complete(asker.token, model)).status).toBe(429)
  const limits = await app.svc.host.limits.list()
  expect(limits.find(({ name }) => name === 'of-model')).toMatchObject({ used: 1 })
  await app.svc.services.ai.usageLedger.flush()
  expect(await app.svc.rows('select user_id, model, assistant from usage_records order by id')).toEqual([
    { user_id: asker.id, model: 'mock-2', assistant: `${handle}@1` },
  ])
  for (const name of [`of-${asker.id}`, 'of-model']) await app.svc.host.limits.remove({ name })
})

test('bills and reports sum up the calls of an assistant, whatever their version', async () => {
  const { owner, asker, handle, model } = await createPeople()
  await owner.call('save', { handle, content: buildContent({ name: 'Second' }), publish: true })
  for (const name of [model, `${model}@1`, 'mock-1']) expect((await complete(asker.token, name)).status).toBe(200)
  await app.svc.services.ai.usageLedger.flush()
  const day = '2020-01-15'
  await app.svc.rows('update usage_records set created_at = $1', [day])
  await app.svc.rows('delete from usage_rollups')
  const { usage } = app.svc.host
  const readBill = async () => {
    const { rows } = await usage.bill({ month: day.slice(0, 7), by: 'assistant' })
    return rows.map(({ name, requests, inputTokens }) => ({ name, requests, inputTokens }))
  }
  const readReport = async () => {
    const rows: { assistant?: string | null; requests: number }[] = []
    for await (const batch of await usage.by({ by: 'assistant', from: day, to: day })) rows.push(...batch)
    return rows.map(({ assistant, requests }) => ({ assistant, requests }))
  }

  const bill = [
    { name: handle, requests: 2, inputTokens: 14 },
    { name: null, requests: 1, inputTokens: 7 },
  ]
  const report = bill.map(({ name, requests }) => ({ assistant: name, requests }))
  expect([await readBill(), await readReport()]).toEqual([bill, report])
  expect(await usage.rollUp()).toEqual({ days: 1 })
  expect([await readBill(), await readReport()]).toEqual([bill, report])
})

test('a person has another model answer only for an assistant that allows it', async () => {
  const { owner, asker, handle, model } = await createPeople({ allowModelSelect: true })
  const fixed = await createPeople()
  const ask = async (more: object, { token = asker.token, name = 'complete' } = {}) => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: content }] }]
    const response = await app.svc.send('POST', `/trpc/ai.${name}`, { token, body: { messages, ...more } })
    const body = (await response.json()) as { error?: { data: { issues: { path: unknown[] }[] } } }
    return { status: response.status, path: body.error?.data.issues[0]?.path }
  }

  expect(await ask({ model, answerModel: 'mock-2' })).toEqual({ status: 200, path: undefined })
  expect(app.upstream.requests.at(-1)?.body.model).toBe('mock-2')
  expect(sentMessages()?.[0]).toEqual(['system', 'Answer as a librarian.'])
  expect(await ask({ model, answerModel: 'no-model' })).toEqual({ status: 422, path: ['answerModel'] })
  expect(await ask({ model: fixed.model, answerModel: 'mock-2' })).toEqual({ status: 422, path: ['answerModel'] })
  expect(await ask({ model: 'mock-1', answerModel: 'mock-2' })).toEqual({ status: 422, path: ['answerModel'] })
  // Beside a plain model the choice holds for the assistant alone.
  const reserve = (answerModels: unknown[]) => ask({ models: [model, 'mock-1'], answerModels }, { name: 'reserve' })
  expect(await reserve(['mock-2', null])).toEqual({ status: 200, path: undefined })
  expect(await app.svc.rows('select model from usage_holds order by model')).toEqual([
    { model: 'mock-1' },
    { model: 'mock-2' },
  ])
  expect(await reserve([null, 'mock-2'])).toEqual({ status: 422, path: ['answerModel'] })
  // Whoever may not use the assistant learns nothing of what it allows.
  await owner.call('share', { handle, audience: 'private' })
  expect(await ask({ model, answerModel: 'mock-2' })).toEqual({ status: 422, path: ['model'] })
  expect(await ask({ model: 'assistant/never-was', answerModel: 'mock-2' })).toEqual({ status: 422, path: ['model'] })
})

type Person = Awaited<ReturnType<typeof addPerson>>

/** Gives a person a token that may ask these models and assistants alone. */
const bind = async ({ id }: Pick<Person, 'id'>, ...names: string[]) =>
  app.svc.host.tokens.createFor({ user: { id }, name: 'bound', abilities: ['ai', 'read', 'write'], models: names })

/** More requests that name a model, with the model in them left out of the answers. */
const readAll = async (token: string, model: string, embedding: string) => {
  const messages = [{ role: 'user', content: [{ type: 'text', text: content }] }]
  const request = { model, messages, parameters: {} }
  const answered = await readAnswers(token, [
    ...buildRequests(model),
    ['/v1/embeddings', { model: embedding, input: content }],
    ['/trpc/ai.complete', request],
    ['/trpc/ai.completeStream', request],
    ['/trpc/ai.countTokens', request],
    ['/trpc/ai.ask', { model, messages: [{ role: 'user', content: { text: content } }] }],
    ['/trpc/ai.embed', { model: embedding, input: [content] }],
    ['/trpc/ai.reserve', { models: [model, model], messages, parameters: {} }],
  ])
  return answered.map(([status, text]) => [status, text.replaceAll(embedding, '').replaceAll(model, '')])
}

test('a model outside of a bound token is answered like a missing one, unbilled', async () => {
  const { asker, owner, model } = await createPeople()
  const { token } = await bind(asker, model, 'mock-2')
  const { model: other } = await createPeople()
  await app.takeRecords()

  const missing = await readAll(token, 'mock-0', 'no-embedding')
  expect(missing.slice(0, 6).map(([status]) => status)).toEqual([404, 404, 404, 404, 422, 404])
  expect(missing.every(([status]) => Number(status) >= 400)).toBe(true)
  expect(await readAll(token, 'mock-1', 'mock-embedding')).toEqual(missing)
  expect(await readAll(token, other, 'mock-embedding')).toEqual(missing)
  expect([app.upstream.requests, await app.takeRecords()]).toEqual([[], []])
  expect((await complete(asker.token, 'mock-1')).status).toBe(200)
  expect((await complete(owner.token, other)).status).toBe(200)
})

test('unmodified clients ask and list what their bound token may ask, and nothing else', async () => {
  const { asker, model } = await createPeople()
  const { openai, anthropic } = clients(await bind(asker, 'mock-2', model))
  const messages = [{ role: 'user' as const, content }]

  for (const name of ['mock-2', model, `${model}@1`]) {
    expect((await openai.chat.completions.create({ model: name, messages })).model).toBe(name)
    expect((await openai.responses.create({ model: name, input: content })).output_text).toBe(TEXT)
    const question = { model: name, max_tokens: 9, messages }
    expect(await anthropic.messages.stream(question).finalText()).toBe(TEXT)
    expect((await anthropic.messages.countTokens(question)).input_tokens).toBeGreaterThan(0)
  }
  await expect(openai.chat.completions.create({ model: 'mock-1', messages })).rejects.toThrow(OpenAI.NotFoundError)
  await expect(openai.models.retrieve('mock-1')).rejects.toThrow(OpenAI.NotFoundError)
  expect(await openai.models.retrieve('mock-2')).toMatchObject({ id: 'mock-2' })
  expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(['mock-2', model])
  expect((await anthropic.models.list()).data.map(({ id }) => id)).toEqual(['mock-2', model])
  await expect(anthropic.models.retrieve('mock-1')).rejects.toThrow(Anthropic.NotFoundError)

  await app.answerBy(embeds)
  const embedder = await bind(asker, 'mock-embedding')
  const embedded = await clients(embedder).openai.embeddings.create({ model: 'mock-embedding', input: content })
  expect(embedded.data).toHaveLength(1)
})

test('JSON:API lists the models of a bound token alone, and an administrator as well', async () => {
  const list = async (token: string) => {
    const response = await app.svc.send('GET', '/api/svc/v1/ai-models?fields[ai-models]=modelId', { token })
    return ((await response.json()) as { data: { attributes: { modelId: string } }[] }).data.map(
      ({ attributes }) => attributes.modelId,
    )
  }
  const admin = await app.svc.user({ role: 'admin', abilities: ['ai', 'read', 'write'] })

  for (const person of [await addPerson(app.svc), admin]) {
    const { token } = await bind(person, 'mock-2')
    expect(await list(token)).toEqual(['mock-2'])
    expect(await list(person.token)).toEqual(expect.arrayContaining(['mock-1', 'mock-2']))
  }
})

test('a bound token asks no later assistant of one handle, and no renamed model', async () => {
  const { owner, asker, handle, model } = await createPeople()
  const { token } = await bind(asker, model, 'mock-4')
  const rename = (from: string, to: string) =>
    app.svc.changeCatalogue(`update ai_models set model_id = '${to}' where model_id = '${from}'`)
  expect([(await complete(token, model)).status, (await complete(token, 'mock-4')).status]).toEqual([200, 200])

  expect(await owner.call('delete', { handle })).toMatchObject({ status: 200 })
  expect((await complete(token, model)).status).toBe(404)
  await owner.create(handle)
  await owner.shareWithAll(handle)
  expect([(await complete(asker.token, model)).status, (await complete(token, model)).status]).toEqual([200, 404])
  await rename('mock-4', 'mock-renamed')
  try {
    expect((await complete(asker.token, 'mock-renamed')).status).toBe(200)
    for (const name of ['mock-4', 'mock-renamed']) expect((await complete(token, name)).status).toBe(404)
  } finally {
    await rename('mock-renamed', 'mock-4')
  }
  const listed = await app.svc.host.tokens.listFor({ user: { id: asker.id } })
  expect(listed.at(-1)).toMatchObject({ models: [model, 'mock-4'] })
})

test('fallbacks answer a bound token, as administrators and assistants chose them', async () => {
  const { asker, model } = await createPeople({ fallback: ['mock-2'] })
  await app.svc.changeCatalogue(`update ai_models set fallback = '{mock-2}' where model_id = 'mock-4'`)
  const { token } = await bind(asker, model, 'mock-4')
  app.upstream.behave = (received, response) =>
    (received.body.model === 'mock-2' ? answers(TEXT) : refuses(401))(received, response)

  for (const name of [model, 'mock-4']) {
    const response = await complete(token, name)
    expect([response.status, response.headers.get('x-answered-by')]).toEqual([200, 'mock-2'])
  }
  expect((await complete(token, 'mock-2')).status).toBe(404)
})

test('a bound token brings no other model into an assistant, nor by choosing one', async () => {
  const { owner, handle, model } = await createPeople({ allowModelSelect: true })
  const { token } = await bind(owner, model)
  const change = { handle, content: buildContent({ model: 'mock-2' }), publish: true }
  const messages = [{ role: 'user', content: [{ type: 'text', text: content }] }]
  const choose = async (by: string) => {
    const body = { model, answerModel: 'mock-2', messages, parameters: {} }
    return (await app.svc.send('POST', '/trpc/ai.complete', { token: by, body })).status
  }

  expect(await callAssistants(app.svc, 'save', change, token)).toMatchObject({
    issues: [{ path: ['content', 'model'], message: 'is not a model that you may use' }],
  })
  expect([await choose(token), await choose(owner.token)]).toEqual([422, 200])
  expect(await owner.call('save', change)).toMatchObject({ status: 200 })
  expect((await complete(token, model)).status).toBe(200)
})

test('a token is bound to what its person may ask, and refusals tell nothing', async () => {
  const { owner, handle, model } = await createPeople()
  await owner.call('share', { handle, audience: 'private' })
  const { browser, id } = await signIn(app.svc, `binder-${owner.id}`)
  const create = async (models: unknown) => {
    const { status, text } = await browser.send('POST', '/trpc/tokens.create', { body: { name: 'bound', models } })
    return { status, issues: JSON.parse(text).error?.data.issues }
  }
  const listBindable = async () => JSON.parse((await browser.send('GET', '/trpc/tokens.bindable')).text).result.data
  const refusal = (name: string) => ({
    path: ['models', 1],
    message: `must name models and assistants that the person may use with a token, unlike '${name}'`,
  })

  for (const name of [model, 'assistant/nobody', `${model}@1`, 'mock-0', 'mock-main']) {
    const { status, issues } = await create(['mock-1', name])
    expect([status, issues[0]]).toEqual([422, refusal(name)])
    expect(issues).toHaveLength(1)
  }
  for (const models of [[], [''], ['x'.repeat(201)], Array.from({ length: 51 }, (_, at) => `m-${at}`), 'mock-1', [7]])
    expect((await create(models)).status).toBe(400)
  expect((await app.svc.send('POST', '/trpc/tokens.create', { body: { name: 'x', models: ['mock-1'] } })).status).toBe(
    401,
  )
  expect(await listBindable()).not.toContainEqual(expect.objectContaining({ name: model }))

  await owner.shareWithAll(handle)
  expect((await create(['mock-1', model, 'mock-1'])).status).toBe(200)
  expect(await listBindable()).toEqual(
    expect.arrayContaining([
      { name: 'mock-1', label: 'mock-1', isAssistant: false },
      { name: model, label: 'Thesis helper', isAssistant: true },
    ]),
  )
  expect(
    await app.svc.rows('select models from access_tokens where user_id = $1 and models is not null', [id]),
  ).toEqual([{ models: [{ name: 'mock-1' }, { name: model, assistantId: expect.any(Number) }] }])
  const readChanges = async () =>
    JSON.stringify(
      await app.svc.rows(`select change from audit_entries where act = 'tokens.create' and subject = 'user:${id}'`),
    )
  await expect.poll(readChanges).toContain(model)
})
