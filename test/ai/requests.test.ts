import { readdir, readFile } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { answers, callsTool, embeds } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import { type RequestCase, readClientRequest, requestCases } from '../kit/ai/request-cases.ts'
import { shareResource } from '../kit/share-resource.ts'

const app = shareResource(() =>
  startWithProvider(answers('Good day.'), {
    models: [
      ...['mock-1', 'gpt-5-mini'].map((id) => ({ id, label: id, external: true, input: ['text', 'image'] })),
      { id: 'embedding', label: 'Embedding', external: true, modelType: 'embedding' },
    ],
  }),
)
beforeEach(() => app.answerBy(answers('Good day.')))

const send = (path: string, body: object, headers: Record<string, string> = {}) =>
  app.svc.send('POST', path, { token: app.token, body, headers })
const upstream = () => app.upstream.requests.at(-1)?.body

test.for(Object.entries(requestCases).map((entry): [string, RequestCase] => entry))(
  'the request %s gets its right answer, and reaches the provider rightly',
  async ([name, { sent, refused, ignored = null, answered = {} }]) => {
    const { path, body } = readClientRequest(
      name,
      JSON.parse(await readFile(`${import.meta.dirname}/cases/requests/${name}.json`, 'utf8')),
    )
    if ('tool' in answered) app.upstream.behave = callsTool(answered.tool as string, answered.input as string)
    if (path === '/v1/embeddings') app.upstream.behave = embeds
    const response = await send(path, path === '/v1/embeddings' ? { ...body, model: 'embedding' } : body)

    const text = await response.text()
    if (refused !== undefined) return expect([response.status, text]).toEqual([400, expect.stringContaining(refused)])
    expect(response.status, text).toBe(200)
    expect(response.headers.get('x-ignored-parameters')).toBe(ignored)
    expect(upstream()).toMatchObject(sent ?? {})
    if ('item' in answered) expect(JSON.parse(text).output).toMatchObject([answered.item])
  },
)

test('every case in the folder has its right outcome in the table', async () => {
  const files = await readdir(`${import.meta.dirname}/cases/requests`)

  expect(files.map((file) => file.replace('.json', '')).toSorted()).toEqual(Object.keys(requestCases).toSorted())
})

describe('a member that is not known', () => {
  const messages = [{ role: 'user', content: 'Hi', mood: 'gay' }]
  const headers = {
    payload: { model: 'mock-1', messages: [{ role: 'user', content: { text: 'Hi', mood: 'gay' } }], top_a: 1 },
  }
  const surfaces: [path: string, body: object, ignored: string][] = [
    ['/v1/chat/completions', { model: 'mock-1', messages, top_a: 1 }, 'top_a, messages.mood'],
    ['/v1/messages', { model: 'mock-1', max_tokens: 9, messages, top_a: 1 }, 'top_a, messages.mood'],
    ['/v1/responses', { model: 'mock-1', input: messages, top_a: 1 }, 'top_a, input.mood'],
    ['/api/ai-req', { ...headers, version: 2 }, 'version, payload.messages.content.mood, payload.top_a'],
  ]

  test.for(
    surfaces.flatMap(([path, body, ignored]) => [false, true].map((stream) => [path, body, ignored, stream] as const)),
  )('a request of %s is answered, and its response names what was ignored', async ([path, body, ignored, stream]) => {
    const isOwn = path === '/api/ai-req'
    const response = await send(
      path,
      isOwn || !stream ? body : { ...body, stream },
      isOwn && stream ? { accept: 'text/event-stream' } : {},
    )

    expect(response.status, await response.text()).toBe(200)
    const names = response.headers.get('x-ignored-parameters')?.split(', ')
    expect(names?.toSorted()).toEqual(ignored.split(', ').toSorted())
    expect(JSON.stringify(upstream())).not.toMatch(/top_a|gay/)
    expect(app.svc.log.join('')).not.toContain('top_a')
  })

  test('a name with half of a surrogate pair is reported as a replacement character', async () => {
    const { payload } = headers
    const within = await send('/api/ai-req', { payload: { ...payload, '\ud800': 1 } })
    expect([within.status, within.headers.get('x-ignored-parameters')?.split(', ')]).toEqual([
      200,
      ['payload.messages.content.mood', 'payload.top_a', 'payload.%EF%BF%BD'],
    ])
    const beside = await send('/api/ai-req', { payload: { ...payload }, '\ud800': 1 })
    expect([beside.status, beside.headers.get('x-ignored-parameters')?.split(', ')]).toEqual([
      200,
      ['%EF%BF%BD', 'payload.messages.content.mood', 'payload.top_a'],
    ])
  })

  test('ignored parameters are listed up to twenty names of 64 characters, then counted', async () => {
    const long = `ä${'x'.repeat(98)}`
    const unknown = Object.fromEntries(
      [long, ...Array.from({ length: 24 }, (_, at) => `m${at}`)].map((name) => [name, 1]),
    )
    const response = await send('/v1/chat/completions', {
      model: 'mock-1',
      messages: [{ role: 'user', content: 'Hi' }],
      ...unknown,
    })

    const names = response.headers.get('x-ignored-parameters')?.split(', ') ?? []
    expect(names).toHaveLength(21)
    expect(names[0]).toBe(`%C3%A4${'x'.repeat(58)}`)
    expect(names.at(-1)).toBe('+5')
    expect(app.svc.log.some((line) => JSON.parse(line).ignoredParameters === 25)).toBe(true)
  })
})
