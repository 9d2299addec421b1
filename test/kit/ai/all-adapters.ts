import { startApp } from '../app.ts'
import { PROVIDER_KEY, protocols } from './protocols.ts'
import { type ProviderRequest, sendJson, startProvider, writeConfig } from './provider.ts'

export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const buildMessages = (...content: object[]) => [
  { role: 'user', content: [{ type: 'text', text: 'Well?' }, ...content] },
]

export const schema = {
  type: 'object',
  properties: { word: { type: 'string' } },
  required: ['word'],
  additionalProperties: false,
}
export const tool = {
  type: 'function',
  function: { name: 'weather', description: 'Tells it.', parameters: schema },
}

const budget = { maxThinkingTokens: 3000 }
const thinking = [
  { id: 'thinks', upstreamId: 'up-1', parameters: budget },
  { id: 'decides', upstreamId: 'claude-sonnet-4-6', parameters: {} },
]

/** Starts a service with all kinds of providers on one server, each below its name, which record their requests. */
export async function startAllAdapters() {
  await using startup = new AsyncDisposableStack()
  const requests: ProviderRequest[] = []
  const upstream = startup.use(
    await startProvider((got, response) => {
      requests.push(got)
      sendJson(response, protocols.find(({ adapter }) => got.path.startsWith(`/v1/${adapter}/`))?.answer)
    }),
  )
  const config = startup.use(await writeConfig(upstream.url))
  const providers = protocols.map(({ adapter }) => ({
    id: adapter,
    adapter,
    apiUrl: `${upstream.url}/${adapter}`,
    apiKey: PROVIDER_KEY,
    models: [
      { id: adapter, upstreamId: 'up-1' },
      ...(adapter === 'anthropic' ? thinking : []),
      ...(adapter === 'openai-compatible' ? [{ id: 'can stop', settings: { thinking: ['off', 'low'] } }] : []),
      ...(adapter === 'openai' ? [{ id: 'reasons', upstreamId: 'gpt-5' }] : []),
      ...(adapter === 'google' ? [{ id: 'gemini', upstreamId: 'gemini-2.5-flash', parameters: budget }] : []),
    ].map((model) => ({ label: model.id, external: true, input: ['text', 'image'], ...model })),
  }))
  await config.write({ providers, systemModels: {} })
  const svc = startup.use(await startApp({ AI_CONFIG: config.file }))
  const { token } = await svc.user()
  const resources = startup.move()
  return {
    svc,
    token,
    requests,

    /** Returns the request that a provider of this kind gets for a client's request. */
    async bodyFor(adapter: string, body: object) {
      const whole = { model: adapter, messages: buildMessages(), ...body }
      const response = await svc.send('POST', '/v1/chat/completions', { token, body: whole })
      return {
        status: response.status,
        body: requests.at(-1)?.body,
        error: ((await response.json()) as { error?: object }).error,
      }
    },

    reset: () => void requests.splice(0),

    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
