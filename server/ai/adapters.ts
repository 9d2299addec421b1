import { Readable } from 'node:stream'
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { type Adapter, defaultAddresses } from '../../routers/ports/ai/adapters.ts'
import type { HttpClient } from '../net/http-client.ts'
import type { ChatModel, Connection, ModelConnection, PartBatch, WholeAnswer } from './chat-model.ts'
import { withCitations, withDeferredSources, withGrounding } from './citations.ts'
import { CompletionModel, compatibleWriter, sdkWriter } from './completion-model.ts'
import { demoModel } from './demo-model.ts'
import { contentEnd, messageEnd, responseEnd, type StreamEnd } from './event-stream.ts'
import { isThrown, refusalOfWhole } from './provider-errors.ts'
import { anthropicUsage, googleUsage, responseUsage, type UsageReader } from './reported-usage.ts'
import { answerFetch, fetchWithMembers, readEitherForm } from './sdk-fetch.ts'
import { boundOptions } from './thinking.ts'
import { collect, toStream } from './whole-answer.ts'

interface SdkSettings {
  fetch: HttpClient['fetch']
  apiKey?: string
  baseURL?: string
}

interface AdapterDriver {
  /** The model of an SDK that asks with such options; undefined where it takes all that it is told. */
  sdk?(modelId: string, settings: SdkSettings, options: LanguageModelV4CallOptions): Promise<LanguageModelV4>
  /** The model of this name at the provider. */
  model(modelId: string, connection: ModelConnection): ChatModel
  /** Where the provider lists its models, and what a request for it carries; undefined where there is no such list. */
  listing(connection: Connection): { url: string; headers: Record<string, string> } | undefined
}

const bearer = (apiKey: string | undefined): Record<string, string> =>
  apiKey ? { authorization: `Bearer ${apiKey}` } : {}

/** Streams one part per step. An SDK is imported at the first call of a model, as most services need only one or two. */
function lazyModel(load: () => Promise<LanguageModelV4>, readUsage: UsageReader = () => undefined): ChatModel {
  const model = lazyPromise(load)
  const generate = async (options: LanguageModelV4CallOptions) => (await model()).doGenerate(options)
  // The SDK reports usage at the end only, while the raw events of most providers report it earlier.
  const begin = async (options: LanguageModelV4CallOptions) =>
    (await model()).doStream({ ...options, includeRawChunks: true })
  const parts = async (options: LanguageModelV4CallOptions) =>
    begin(options)
      .then(({ stream }) => batchEach(stream, readUsage))
      .catch((error) => streamRefusal(error, readUsage))
  return {
    doGenerate: async (options) =>
      withoutRefusal(
        await readEitherForm<WholeAnswer>({
          ask: () => generate(options),
          askOther: async () => collect(await parts(options)),
        }),
      ),
    async doStream(options) {
      const stream = await readEitherForm({
        isForStream: true,
        ask: () => parts(options),
        askOther: async () => toStream(await generate(options)),
      })
      return { stream }
    },
  }
}

/** Some SDKs read an error as an answer that says nothing. */
function withoutRefusal(answer: WholeAnswer): WholeAnswer {
  const refusal = answer.content.length === 0 ? refusalOfWhole(answer.response?.body) : undefined
  if (refusal) throw refusal
  return answer
}

async function* batchEach(
  parts: AsyncIterable<LanguageModelV4StreamPart>,
  readUsage: UsageReader,
): AsyncGenerator<PartBatch, void> {
  for await (const part of parts) {
    yield [part.type === 'raw' ? { type: 'usage', tokens: readUsage(part.rawValue) } : part]
  }
}

/** The events of a stream that begins with a refusal, which some SDKs throw. */
async function streamRefusal(error: unknown, readUsage: UsageReader): Promise<AsyncIterable<PartBatch>> {
  if (!isThrown(error)) throw error
  const batch: PartBatch = [
    { type: 'usage', tokens: readUsage(error.data) },
    { type: 'error', error },
  ]
  return Readable.from([batch])
}

type Api = Pick<LanguageModelV4CallOptions, 'stopSequences' | 'seed'>

/** OpenAI's newer API has no word for `stop` and `seed`, which its older one has. */
const needsOlderApi = ({ stopSequences, seed }: Api): boolean => stopSequences !== undefined || seed !== undefined

function selectApi(newer: ChatModel, older: ChatModel): ChatModel {
  const modelFor = (options: LanguageModelV4CallOptions) => (needsOlderApi(options) ? older : newer)
  return {
    doGenerate: (options) => modelFor(options).doGenerate(options),
    doStream: (options) => modelFor(options).doStream(options),
  }
}

function withThinkingBudget(id: string, model: ChatModel): ChatModel {
  return {
    doGenerate: async (options) => model.doGenerate(await boundOptions(id, options)),
    doStream: async (options) => model.doStream(await boundOptions(id, options)),
  }
}

/** The settings of an SDK, without the members that are not set. */
const sdkSettings = (connection: ModelConnection, end: StreamEnd): SdkSettings => ({
  fetch: fetchWithMembers(answerFetch(connection, end), connection.extraMembers),
  ...sdkAddress(connection),
})

const sdkAddress = ({ apiUrl, apiKey }: ModelConnection) => ({
  ...(apiUrl && { baseURL: apiUrl }),
  ...(apiKey && { apiKey }),
})

const modelsEndpoint =
  (adapter: Adapter, headersOf: (apiKey: string | undefined) => Record<string, string>, all = '') =>
  ({ apiUrl = defaultAddresses[adapter], apiKey }: Connection) => ({
    url: `${apiUrl}/models${all}`,
    headers: headersOf(apiKey),
  })

const compatibleDriver = (adapter: Adapter): AdapterDriver => ({
  model: (id, connection) => new CompletionModel(connection, compatibleWriter(id, connection)),
  listing: modelsEndpoint(adapter, bearer),
})

async function openai(id: string, settings: SdkSettings, api: Api): Promise<LanguageModelV4> {
  const provider = (await import('@ai-sdk/openai')).createOpenAI(settings)
  return needsOlderApi(api) ? provider.chat(id) : provider(id)
}

const anthropic = async (id: string, settings: SdkSettings): Promise<LanguageModelV4> =>
  (await import('@ai-sdk/anthropic')).createAnthropic(settings)(id)

const google = async (id: string, settings: SdkSettings): Promise<LanguageModelV4> =>
  (await import('@ai-sdk/google')).createGoogle(settings)(id)

const mistral = async (id: string, settings: SdkSettings): Promise<LanguageModelV4> =>
  (await import('@ai-sdk/mistral')).createMistral(settings)(id)

export const adapterDrivers: Record<Adapter, AdapterDriver> = {
  'openai-compatible': compatibleDriver('openai-compatible'),
  open_web_ui: compatibleDriver('open_web_ui'),
  openai: {
    sdk: openai,
    model: (id, connection) => {
      const newer = () => openai(id, sdkSettings(connection, responseEnd), {})
      const older = sdkWriter(connection, (fetch) => openai(id, { fetch, ...sdkAddress(connection) }, { seed: 0 }))
      return selectApi(lazyModel(newer, responseUsage), new CompletionModel(connection, older))
    },
    listing: modelsEndpoint('openai', bearer),
  },
  anthropic: {
    sdk: anthropic,
    model: (id, connection) => {
      const model = lazyModel(() => anthropic(id, sdkSettings(connection, messageEnd)), anthropicUsage)
      return withThinkingBudget(id, withCitations(withDeferredSources(model)))
    },
    listing: modelsEndpoint(
      'anthropic',
      (key = '') => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
      '?limit=1000',
    ),
  },
  google: {
    sdk: google,
    model: (id, connection) =>
      withCitations(withGrounding(lazyModel(() => google(id, sdkSettings(connection, contentEnd)), googleUsage))),
    listing: modelsEndpoint('google', (key = '') => ({ 'x-goog-api-key': key }), '?pageSize=1000'),
  },
  mistral: {
    sdk: mistral,
    model: (id, connection) => {
      const write = sdkWriter(connection, (fetch) => mistral(id, { fetch, ...sdkAddress(connection) }))
      return new CompletionModel(connection, write)
    },
    listing: modelsEndpoint('mistral', bearer),
  },
  demo: { model: (id) => lazyModel(async () => demoModel(id)), listing: () => undefined },
}
