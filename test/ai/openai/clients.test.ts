import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, streamText } from 'ai'
import { beforeEach, expect, test } from 'vitest'
import { answers } from '../../kit/ai/provider.ts'
import { startWithProvider } from '../../kit/ai/provider-service.ts'
import { shareResource } from '../../kit/share-resource.ts'

const app = shareResource(() => startWithProvider(answers('Good day to you.')))
beforeEach(() => {
  app.upstream.requests.length = 0
  app.upstream.behave = answers('Good day to you.')
})

const baseURL = () => `${app.svc.url}/v1`
const langChain = (more: object = {}) =>
  new ChatOpenAI({ apiKey: app.token, model: 'mock-1', configuration: { baseURL: baseURL() }, ...more })

test('LangChain reads an answer whole and as it comes', async () => {
  const answer = await langChain().invoke('How do you do?')
  const pieces: string[] = []
  for await (const { text } of await langChain().stream('How do you do?')) pieces.push(text)

  expect(answer.text).toBe('Good day to you.')
  expect(answer.usage_metadata).toMatchObject({ input_tokens: 7, output_tokens: 3 })
  expect(pieces.join('')).toBe('Good day to you.')
})

const sdks = () => ({
  'the OpenAI provider': createOpenAI({ apiKey: app.token, baseURL: baseURL() }).chat('mock-1'),
  'the provider of compatible servers': createOpenAICompatible({
    name: 'svc',
    apiKey: app.token,
    baseURL: baseURL(),
  })('mock-1'),
})

test.for(['the OpenAI provider', 'the provider of compatible servers'] as const)(
  'the AI SDK reads an answer whole and as it comes by %s',
  async (name) => {
    const model = sdks()[name]
    const { text, usage } = await generateText({ model, prompt: 'How do you do?' })
    const stream = streamText({ model, prompt: 'How do you do?' })

    expect(text).toBe('Good day to you.')
    expect(usage).toMatchObject({ inputTokens: 7, outputTokens: 3 })
    expect(await stream.text).toBe('Good day to you.')
    expect(await stream.finishReason).toBe('stop')
  },
)
