import { Readable } from 'node:stream'
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { type Adapter, defaultAddresses } from '../../routers/ports/ai/adapters.ts'
import type { HttpClient } from '../net/http-client.ts'
import type { ChatModel, Connection, GenerateResult, ModelConnection, PartBatch } from './chat-model.ts'
import { withCitations, withDeferredSources, withGrounding } from './citations.ts'
import { CompletionModel, createCompatibleWriter, createSdkWriter } from './completion-model.ts'
import { createDemoModel } from './demo-model.ts'
import { anthropicStreamEnding, googleStreamEnding, openaiStreamEnding, type StreamEnding } from './event-stream.ts'
import { collectStream, toStream } from './generate-result.ts'
import { findReportedError, isSdkStatusError } from './provider-errors.ts'
import { readAnthropicUsage, readGoogleUsage, readResponsesUsage, type UsageReader } from './reported-usage.ts'
import { createSdkFetch, readEitherForm, withExtraMembers } from './sdk-fetch.ts'
import { limitThinking } from './thinking.ts'

interface SdkSettings {
  fetch: HttpClient['fetch']
  apiKey?: string
  baseURL?: string
}

interface AdapterDriver {
  /**
   * Creates the SDK's model for requests with these options. Absent if we read the provider's responses ourselves or
   * nothing is left out.
   */
  sdk?(modelId: string, settings: SdkSettings, options: LanguageModelV4CallOptions): Promise<LanguageModelV4>
  /** Creates the model that the provider knows by this id. */
  model(modelId: string, connection: ModelConnection): ChatModel
  /** Returns the address and the headers for the provider's list of models; undefined if it has none. */
  listing(connection: Connection): { url: string; headers: Record<string, string> } | undefined
}

const buildBearerHeaders = (apiKey: string | undefined): Record<string, string> =>
  apiKey ? { authorization: `Bearer ${apiKey}` } : {}

/** Creates a model that imports its SDK at the first call, since most installations need only one or two SDKs. */
function createLazyModel(load: () => Promise<LanguageModelV4>, readUsage: UsageReader = () => undefined): ChatModel {
  const model = lazyPromise(load)
  const generate = async (options: LanguageModelV4CallOptions) => (await model()).doGenerate(options)
  // The SDK reports usage only at the end of a stream, while the raw events of most providers report it earlier.
  const begin = async (options: LanguageModelV4CallOptions) =>
    (await model()).doStream({ ...options, includeRawChunks: true })
  const openParts = async (options: LanguageModelV4CallOptions) =>
    begin(options)
      .then(({ stream }) => batchEach(stream, readUsage))
      .catch((error) => toErrorStream(error, readUsage))
  return {
    doGenerate: async (options) =>
      rejectErrorResponse(
        await readEitherForm<GenerateResult>({
          send: () => generate(options),
          readOther: async () => collectStream(await openParts(options)),
        }),
      ),
    async doStream(options) {
      const stream = await readEitherForm({
        isForStream: true,
        send: () => openParts(options),
        readOther: async () => toStream(await generate(options)),
      })
      return { stream }
    },
  }
}

/** Throws if the response is an error that the SDK has read as an empty answer. */
function rejectErrorResponse(answer: GenerateResult): GenerateResult {
  const refusal = answer.content.length === 0 ? findReportedError(answer.response?.body) : undefined
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

/** Returns a stream with the error that an SDK throws when a stream begins with one. */
async function toErrorStream(error: unknown, readUsage: UsageReader): Promise<AsyncIterable<PartBatch>> {
  if (!isSdkStatusError(error)) throw error
  const batch: PartBatch = [
    { type: 'usage', tokens: readUsage(error.data) },
    { type: 'error', error },
  ]
  return Readable.from([batch])
}

type Api = Pick<LanguageModelV4CallOptions, 'stopSequences' | 'seed'>

/** OpenAI's Responses API supports neither `stop` nor `seed`; its Chat Completions API supports both. */
const needsOlderApi = ({ stopSequences, seed }: Api): boolean => stopSequences !== undefined || seed !== undefined

function selectApi(newer: ChatModel, older: ChatModel): ChatModel {
  const selectModel = (options: LanguageModelV4CallOptions) => (needsOlderApi(options) ? older : newer)
  return {
    doGenerate: (options) => selectModel(options).doGenerate(options),
    doStream: (options) => selectModel(options).doStream(options),
  }
}

function withThinkingBudget(id: string, model: ChatModel): ChatModel {
  return {
    doGenerate: async (options) => model.doGenerate(await limitThinking(id, options)),
    doStream: async (options) => model.doStream(await limitThinking(id, options)),
  }
}

/** Returns the settings of an SDK, without undefined members. */
const buildSdkSettings = (connection: ModelConnection, end: StreamEnding): SdkSettings => ({
  fetch: withExtraMembers(createSdkFetch(connection, end), connection.extraMembers),
  ...buildSdkAddress(connection),
})

const buildSdkAddress = ({ apiUrl, apiKey }: ModelConnection) => ({
  ...(apiUrl && { baseURL: apiUrl }),
  ...(apiKey && { apiKey }),
})

const createListing =
  (adapter: Adapter, toHeaders: (apiKey: string | undefined) => Record<string, string>, all = '') =>
  ({ apiUrl = defaultAddresses[adapter], apiKey }: Connection) => ({
    url: `${apiUrl}/models${all}`,
    headers: toHeaders(apiKey),
  })

const createCompatibleDriver = (adapter: Adapter): AdapterDriver => ({
  model: (id, connection) => new CompletionModel(connection, createCompatibleWriter(id, connection)),
  listing: createListing(adapter, buildBearerHeaders),
})

async function createOpenAiModel(id: string, settings: SdkSettings, api: Api): Promise<LanguageModelV4> {
  const provider = (await import('@ai-sdk/openai')).createOpenAI(settings)
  return needsOlderApi(api) ? provider.chat(id) : provider(id)
}

const createAnthropicModel = async (id: string, settings: SdkSettings): Promise<LanguageModelV4> =>
  (await import('@ai-sdk/anthropic')).createAnthropic(settings)(id)

const createGoogleModel = async (id: string, settings: SdkSettings): Promise<LanguageModelV4> =>
  (await import('@ai-sdk/google')).createGoogle(settings)(id)

const createMistralModel = async (id: string, settings: SdkSettings): Promise<LanguageModelV4> =>
  (await import('@ai-sdk/mistral')).createMistral(settings)(id)

export const adapterDrivers: Record<Adapter, AdapterDriver> = {
  'openai-compatible': createCompatibleDriver('openai-compatible'),
  open_web_ui: createCompatibleDriver('open_web_ui'),
  openai: {
    sdk: createOpenAiModel,
    model: (id, connection) => {
      const createNewer = () => createOpenAiModel(id, buildSdkSettings(connection, openaiStreamEnding), {})
      const writer = createSdkWriter(connection, (fetch) =>
        createOpenAiModel(id, { fetch, ...buildSdkAddress(connection) }, { seed: 0 }),
      )
      return selectApi(createLazyModel(createNewer, readResponsesUsage), new CompletionModel(connection, writer))
    },
    listing: createListing('openai', buildBearerHeaders),
  },
  anthropic: {
    sdk: createAnthropicModel,
    model: (id, connection) => {
      const model = createLazyModel(
        () => createAnthropicModel(id, buildSdkSettings(connection, anthropicStreamEnding)),
        readAnthropicUsage,
      )
      return withThinkingBudget(id, withCitations(withDeferredSources(model)))
    },
    listing: createListing(
      'anthropic',
      (key = '') => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
      '?limit=1000',
    ),
  },
  google: {
    sdk: createGoogleModel,
    model: (id, connection) =>
      withCitations(
        withGrounding(
          createLazyModel(
            () => createGoogleModel(id, buildSdkSettings(connection, googleStreamEnding)),
            readGoogleUsage,
          ),
        ),
      ),
    listing: createListing('google', (key = '') => ({ 'x-goog-api-key': key }), '?pageSize=1000'),
  },
  mistral: {
    sdk: createMistralModel,
    model: (id, connection) => {
      const write = createSdkWriter(connection, (fetch) =>
        createMistralModel(id, { fetch, ...buildSdkAddress(connection) }),
      )
      return new CompletionModel(connection, write)
    },
    listing: createListing('mistral', buildBearerHeaders),
  },
  demo: { model: (id) => createLazyModel(async () => createDemoModel(id)), listing: () => undefined },
}
