import { startApp } from '../../app.ts'
import { signIn } from '../../browser.ts'
import { key } from '../protocols.ts'
import { configFor, startProvider } from '../provider.ts'
import { scriptedModel } from '../scripted-model.ts'

/** Models of each kind of provider, by what it calls them. The older one of Anthropic is told of a schema by a tool, another never told to call one. */
export const models: Record<string, Record<string, string>> = {
  'openai-compatible': { compatible: 'up-1' },
  open_web_ui: { 'open web ui': 'up-1' },
  openai: { gpt: 'gpt-4.1' },
  anthropic: { claude: 'claude-sonnet-4-6', 'older claude': 'claude-sonnet-4-0', 'free claude': 'claude-opus-5-5' },
  google: { gemini: 'gemini-2.5-flash' },
  mistral: { mistral: 'mistral-large-latest' },
}

interface Kept {
  outcome: string
  estimated: boolean
  input: number
  output: number
}

/** A service whose models all are the scripted one, and somebody who asks it by every face. */
export async function startScripted() {
  await using starting = new AsyncDisposableStack()
  const { behave, said } = scriptedModel()
  const upstream = starting.use(await startProvider(behave))
  const config = starting.use(await configFor(upstream.url))
  const providers = Object.entries(models).map(([adapter, known]) => ({
    ...{ id: `some ${adapter}`, adapter, apiUrl: `${upstream.url}/${adapter}`, apiKey: key },
    models: Object.entries(known).map(([id, upstreamId]) => ({ id, upstreamId, external: true })),
  }))
  await config.write({ providers, systemModels: {} })
  const svc = starting.use(await startApp({ AI_CONFIG: config.file }))
  const { token } = await svc.user()
  const { browser } = await signIn(svc, 'ada')
  const resources = starting.move()
  return {
    asker: { svc, token, browser },
    /** What the model answered since the last time, and what the service recorded of it. */
    async take() {
      await svc.services.usageLedger.flush()
      const records = await svc.rows<Kept>(
        `delete from usage_records returning outcome, estimated, input_tokens as input, output_tokens as output`,
      )
      return { said: said.splice(0), records }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

export type Scripted = Awaited<ReturnType<typeof startScripted>>
