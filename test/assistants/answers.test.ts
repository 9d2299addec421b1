import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { beforeEach, expect, test } from 'vitest'
import { answers } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import { addAssistantWithKnowledge } from '../kit/assistants/answers.ts'
import { shareResource } from '../kit/share-resource.ts'

const models = [
  { id: 'mock-1', label: 'Mock 1', external: true },
  { id: 'toolless', label: 'Toolless', external: true, settings: { toolCalling: false } },
]
const app = shareResource(() => startWithProvider(answers('Good day.'), { models }))
beforeEach(() => app.answerBy(answers('Good day.')))

const fees = '# Fees\n\nThe pottery course costs 40 euros.\n\n# Hours\n\nThe library closes at ten.\n'
const content = 'What does pottery cost?'
const TIMEOUT = { timeout: 120_000 }

const clients = ({ token: apiKey }: { token: string }) => ({
  openai: new OpenAI({ apiKey, baseURL: `${app.svc.url}/v1`, maxRetries: 0 }),
  anthropic: new Anthropic({ apiKey, baseURL: app.svc.url, maxRetries: 0 }),
})

const complete = (token: string, model: string, more: object = {}) =>
  app.svc.send('POST', '/v1/chat/completions', {
    token,
    body: { model, messages: [{ role: 'user', content }], ...more },
  })

test('small knowledge stands whole behind the instructions, and no search is made', TIMEOUT, async () => {
  const { asker, model } = await addAssistantWithKnowledge(app.svc, { 'fees.md': fees })

  for (let turn = 0; turn < 2; turn++) expect((await complete(asker.token, model)).status).toBe(200)
  const systems = app.upstream.requests.map(({ body }) => body.messages[0]?.content)
  expect(systems[0]).toMatch(
    /^Answer as a librarian\.\n\n[\s\S]*\[1\] fees\.md[\s\S]*The pottery course costs 40 euros\./,
  )
  // Equal beginnings keep the caches of providers.
  expect(systems[1]).toBe(systems[0])
  expect(app.upstream.requests[0]?.body.tools).toBeUndefined()
})

test('numbers that were not given never reach the reader, whole and in pieces', TIMEOUT, async () => {
  const { asker, model } = await addAssistantWithKnowledge(app.svc, { 'fees.md': fees })
  const written = 'It costs 40 euros [1] and more [7]. See [1, 9], 【1†fees】 and [8](https://evil.example), `a[7]`.'
  const read = 'It costs 40 euros [1] and more. See [1], [1] and (https://evil.example), `a[7]`.'

  for (const pieces of [[written], [...written], written.split(/(?=\d)/)]) {
    await app.answerBy(answers(written, pieces))
    const { openai } = clients(asker)
    const whole = await openai.chat.completions.create({ model, messages: [{ role: 'user', content }] })
    const chunks: string[] = []
    const stream = await openai.chat.completions.create({ model, messages: [{ role: 'user', content }], stream: true })
    for await (const { choices } of stream) chunks.push(choices[0]?.delta.content ?? '')
    expect([whole.choices[0]?.message.content, chunks.join('')]).toEqual([read, read])
  }
})
