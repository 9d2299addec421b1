import { startApp } from '../app.ts'
import { answersWithSources, dialects } from './native-dialects.ts'
import { startProvider, writeConfig } from './provider.ts'

export const searchTool = 'capability:web_search:native'
export const fetchTool = 'capability:web_fetch:native'
export const messages = [{ role: 'user', content: 'Which opening is best?' }]

const pricing = { currency: 'EUR', inputPerMillion: 10, outputPerMillion: 30 }
/** The price of tool uses beside tokens, in units of a thousand uses. */
const useRates: Record<string, object> = {
  openai: { webSearchPerThousand: 10 },
  anthropic: { webSearchPerThousand: 10, webFetchPerThousand: 0.5 },
  google: { groundedPromptPerThousand: 35 },
}

function buildModels(adapter: string) {
  const model = {
    external: true,
    tools: ['weather'],
    pricing: { ...pricing, ...useRates[adapter] },
    nativeCapabilities: ['web_search', 'web_fetch', 'code_execution'],
  }
  return [
    {
      ...model,
      id: adapter,
      upstreamId: adapter === 'google' ? 'gemini-2.5-flash' : 'up',
      fallback: adapter === 'anthropic' ? ['anthropic unpriced', 'google'] : [],
    },
    { ...model, id: `${adapter} without`, nativeCapabilities: [] },
    { ...model, id: `${adapter} unpriced`, pricing },
    { ...model, id: `${adapter} off`, settings: { nativeCapabilities: false } },
  ]
}

/** Starts a service whose models search the web and read pages by tools of their providers. */
export async function startNativeTools() {
  await using startup = new AsyncDisposableStack()
  const upstream = startup.use(await startProvider(answersWithSources))
  const config = startup.use(await writeConfig(upstream.url))
  const providers = [...Object.keys(dialects), 'openai-compatible'].map((adapter) => ({
    id: adapter,
    adapter,
    apiUrl: `${upstream.url}/${adapter}`,
    apiKey: 'key',
    models: buildModels(adapter),
  }))
  await config.write({ providers })
  const svc = startup.use(
    await startApp({
      AI_CONFIG: config.file,
      EXTENSIONS: 'test/fixtures/extension.ts',
      LIMITS_MAX_OUTPUT_TOKENS: '100',
    }),
  )
  const { token } = await svc.user()
  const send = (path: string, body: object) => svc.send('POST', path, { token, body })
  const resources = startup.move()
  return {
    svc,
    token,
    upstream,
    send,

    chat: (model: string, tools: unknown[], more: object = {}) =>
      send('/v1/chat/completions', { model, messages, tools, ...more }),

    /** Returns the usage records and deletes them. */
    async takeRecords() {
      await svc.services.ai.usageLedger.flush()
      return svc.rows(`with taken as (delete from usage_records returning *)
        select outcome, input_tokens as input, output_tokens as output, web_searches as searches, web_fetches as fetches,
               cost_micros::float8 as cost from taken order by id`)
    },

    reset() {
      upstream.behave = answersWithSources
      upstream.requests.length = 0
    },

    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
