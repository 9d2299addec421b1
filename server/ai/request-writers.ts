import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { fetchBy, type HttpClient } from '../net/http-client.ts'
import type { ModelConnection } from './chat-model.ts'
import type { CompletionRequest, CompletionWriter } from './completion-model.ts'
import { addMembers, fetchWithMembers } from './sdk-fetch.ts'

/** Writes requests by the SDK for servers that speak chat completions. */
export function compatibleWriter(id: string, connection: ModelConnection): CompletionWriter {
  const { apiUrl = '', apiKey, fetch, continuousUsage, extraMembers } = connection
  const url = `${apiUrl}/chat/completions`
  const headers = { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) }
  const sdk = new OpenAICompatibleChatLanguageModel(id, {
    // Its first word is where the SDK reads options and keeps proofs.
    provider: 'compatible.chat',
    url: () => url,
    headers: () => headers,
    fetch,
    supportsStructuredOutputs: true,
  })
  const streamed = {
    stream: true,
    stream_options: { include_usage: true, ...(continuousUsage && { continuous_usage_stats: true }) },
  }
  return async (options, isStream) => {
    const { body } = await sdk.prepareRequest(options)
    const written = addMembers({ ...body, ...(isStream && streamed) }, extraMembers)
    return { url, method: 'POST', headers, body: JSON.stringify(written), signal: options.abortSignal ?? null }
  }
}

/** Writes requests by an SDK that has no other word for it than to send them: what it would send is taken from it. */
export function sdkWriter(
  { extraMembers }: ModelConnection,
  load: (fetch: HttpClient['fetch']) => Promise<LanguageModelV4>,
): CompletionWriter {
  const take = fetchBy(async (url, request) => {
    throw new WrittenRequest({ ...request, url })
  })
  const loadModel = lazyPromise(() => load(fetchWithMembers(take, extraMembers)))
  return async (options, isStream) => {
    const model = await loadModel()
    try {
      await (isStream ? model.doStream(options) : model.doGenerate(options))
    } catch (error) {
      if (error instanceof WrittenRequest) return error.request
      throw error
    }
    throw new Error('the SDK has sent nothing')
  }
}

class WrittenRequest extends Error {
  readonly request: CompletionRequest

  constructor(request: CompletionRequest) {
    super('it is written, and not sent')
    this.request = request
  }
}
