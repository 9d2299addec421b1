import { startApp } from '../app.ts'
import { buildTextAnswer, type DialectAnswer } from './dialects/dialect.ts'
import { PROVIDER_KEY } from './protocols.ts'
import { startProvider, writeConfig } from './provider.ts'
import { answerInDialect } from './task-model.ts'

export const plainAnswer: DialectAnswer = buildTextAnswer('Good day.', {
  input: 10,
  output: 5,
  cached: 0,
  cacheWrite: 0,
  reasoning: 0,
})

export const upstreamIds = {
  'openai-compatible': 'up-1',
  openai: 'gpt-4.1',
  anthropic: 'claude-sonnet-4-6',
  google: 'gemini-2.5-flash',
  mistral: 'mistral-large-latest',
}
const templated = {
  id: 'templated',
  upstreamId: 'up-2',
  external: true,
  parameters: { chat_template_kwargs: { builtin: true, enable_thinking: true } },
}

/** Starts a service with a model of each kind of provider, and with one that searches the web. */
export async function startDialects(settings: Record<string, string> = {}) {
  await using starting = new AsyncDisposableStack()
  const upstream = starting.use(await startProvider(answerInDialect(() => plainAnswer)))
  const config = starting.use(await writeConfig(upstream.url))
  const model = { external: true, input: ['text', 'image'] }
  const providers = Object.entries(upstreamIds).map(([adapter, upstreamId]) => ({
    id: adapter,
    adapter,
    apiUrl: `${upstream.url}/${adapter}`,
    apiKey: PROVIDER_KEY,
    models: [
      { id: adapter, upstreamId, ...model },
      { id: `searching ${adapter}`, upstreamId, ...model, nativeCapabilities: ['web_search'] },
      ...(adapter === 'openai-compatible' ? [templated] : []),
    ],
  }))
  await config.write({ providers, systemModels: {} })
  const svc = starting.use(await startApp({ AI_CONFIG: config.file, ...settings }))
  const { token } = await svc.user()
  const resources = starting.move()
  return {
    upstream,
    send: (path: string, body: object) => svc.send('POST', path, { token, body }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
