import { afterAll, beforeAll, expect, test } from 'vitest'
import { model, provider, startWith } from '../kit/ai/model-config.ts'
import { protocols } from '../kit/ai/protocols.ts'
import { beginStream, stalls, startProvider } from '../kit/ai/provider.ts'

type App = Awaited<ReturnType<typeof startProtocols>>

let app: App

beforeAll(async () => {
  app = await startProtocols()
})

afterAll(() => app[Symbol.asyncDispose]())

/** A service with a model behind each adapter. */
async function startProtocols() {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(stalls))
  const providers = protocols.map(({ adapter }) =>
    provider(adapter, [model(adapter)], { adapter, apiUrl: upstream.url, apiKey: 'provider-key' }),
  )
  const { svc } = resources.use(await startWith({ providers, systemModels: { default: 'openai' } }))
  const { token } = await svc.user()
  const kept = resources.move()
  return { svc, upstream, token, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

test.for(protocols.map(({ adapter, events }) => ({ adapter, text: events.join('') })))(
  'a stream of $adapter ends with its answer, though its connection stays open or breaks',
  async ({ adapter, text }) => {
    for (const breaks of [false, true]) {
      app.upstream.behave = async (_, response) => {
        beginStream(response)
        // What is sent apart arrives before the connection breaks.
        await new Promise<void>((sent) => response.write(text, () => sent()))
        if (breaks) setTimeout(() => response.destroy(), 20)
      }
      const body = { model: adapter, messages: [{ role: 'user', content: 'Hello' }], stream: true }

      const answer = await app.svc.send('POST', '/v1/chat/completions', { token: app.token, body })

      const told = await answer.text()
      expect(told).toContain('"finish_reason":"stop"')
      expect(told.trimEnd().endsWith('data: [DONE]')).toBe(true)
    }
  },
)
