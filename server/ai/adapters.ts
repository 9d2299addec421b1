import { Readable } from 'node:stream'
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { type Adapter, usualAddresses } from '../../routers/ports/ai/adapters.ts'
import type { ChatModel, Connection, ModelConnection, WholeAnswer } from './chat-model.ts'
import { CompletionModel } from './completion-model.ts'
import { demoModel } from './demo/demo.ts'
import { isThrown, refusalOfWhole } from './failures/refusal.ts'
import { withCitations, withDeferredSources, withGrounding } from './fetched-pages.ts'
import type { PartBatch } from './provider-stream.ts'
import { compatibleWriter, sdkWriter } from './request-writers.ts'
import { answerFetch, fetchWithMembers, readEitherForm } from './sdk-fetch.ts'
import { boundThinking } from './thinking/anthropic.ts'
import { capabilitiesOf, withoutRival } from './thinking/forced-tools.ts'
import { anthropicUsage, googleUsage, responseUsage, type UsageReader } from './usage/reported-usage.ts'
import { collect, toStream } from './whole-answer.ts'
import { contentEnd, messageEnd, responseEnd, type StreamEnd } from './wire/stream-progress.ts'

interface AdapterDriver {
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

/** OpenAI's newer API has no word for `stop` and `seed`, which its older one has. */
function selectApi(newer: ChatModel, older: ChatModel): ChatModel {
  const modelFor = ({ stopSequences, seed }: LanguageModelV4CallOptions) =>
    stopSequences !== undefined || seed !== undefined ? older : newer
  return {
    doGenerate: (options) => modelFor(options).doGenerate(options),
    doStream: (options) => modelFor(options).doStream(options),
  }
}

/** A model of Anthropic, whose thoughts the SDK would let go beyond the longest answer, and stand before what it must call. */
function withThinkingBudget(id: string, model: ChatModel): ChatModel {
  const bound = async (options: LanguageModelV4CallOptions) =>
    boundThinking(withoutRival(options), await capabilitiesOf(id))
  return {
    doGenerate: async (options) => model.doGenerate(await bound(options)),
    doStream: async (options) => model.doStream(await bound(options)),
  }
}

/** The settings of an SDK, without the members that are not set. */
const sdkSettings = (connection: ModelConnection, end: StreamEnd) => ({
  fetch: fetchWithMembers(answerFetch(connection, end), connection.extraMembers),
  ...sdkAddress(connection),
})

const sdkAddress = ({ apiUrl, apiKey }: ModelConnection) => ({
  ...(apiUrl && { baseURL: apiUrl }),
  ...(apiKey && { apiKey }),
})

const modelsEndpoint =
  (adapter: Adapter, headersOf: (apiKey: string | undefined) => Record<string, string>, all = '') =>
  ({ apiUrl = usualAddresses[adapter], apiKey }: Connection) => ({
    url: `${apiUrl}/models${all}`,
    headers: headersOf(apiKey),
  })

const compatibleDriver = (adapter: Adapter): AdapterDriver => ({
  model: (id, connection) => new CompletionModel(connection, compatibleWriter(id, connection)),
  listing: modelsEndpoint(adapter, bearer),
})

export const adapterDrivers: Record<Adapter, AdapterDriver> = {
  'openai-compatible': compatibleDriver('openai-compatible'),
  open_web_ui: compatibleDriver('open_web_ui'),
  openai: {
    model: (id, connection) => {
      const load = async () => (await import('@ai-sdk/openai')).createOpenAI
      const newer = async () => (await load())(sdkSettings(connection, responseEnd))(id)
      const older = sdkWriter(connection, async (fetch) =>
        (await load())({ fetch, ...sdkAddress(connection) }).chat(id),
      )
      return selectApi(lazyModel(newer, responseUsage), new CompletionModel(connection, older))
    },
    listing: modelsEndpoint('openai', bearer),
  },
  anthropic: {
    model: (id, connection) =>
      withThinkingBudget(
        id,
        withCitations(
          withDeferredSources(
            lazyModel(
              async () => (await import('@ai-sdk/anthropic')).createAnthropic(sdkSettings(connection, messageEnd))(id),
              anthropicUsage,
            ),
          ),
        ),
      ),
    listing: modelsEndpoint(
      'anthropic',
      (key = '') => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
      '?limit=1000',
    ),
  },
  google: {
    model: (id, connection) =>
      withCitations(
        withGrounding(
          lazyModel(
            async () => (await import('@ai-sdk/google')).createGoogle(sdkSettings(connection, contentEnd))(id),
            googleUsage,
          ),
        ),
      ),
    listing: modelsEndpoint('google', (key = '') => ({ 'x-goog-api-key': key }), '?pageSize=1000'),
  },
  mistral: {
    model: (id, connection) => {
      const load = async () => (await import('@ai-sdk/mistral')).createMistral
      const write = sdkWriter(connection, async (fetch) => (await load())({ fetch, ...sdkAddress(connection) })(id))
      return new CompletionModel(connection, write)
    },
    listing: modelsEndpoint('mistral', bearer),
  },
  demo: { model: (id) => lazyModel(async () => demoModel(id)), listing: () => undefined },
}
