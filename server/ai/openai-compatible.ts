import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import {
  APICallError,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
  type LanguageModelV4ToolCall,
} from '@ai-sdk/provider'
import type { Outbound } from '../outbound.ts'
import type { ChatModel, Connection } from './adapters.ts'
import { type CompletionChunk, CompletionParts } from './completion-parts.ts'
import { eventData } from './event-data.ts'

/**
 * The AI SDK writes the request and reads the answer; only what lies between is ours, because the SDK's chain of web
 * streams takes longer for a stream than all the rest of a call.
 */
export function compatibleModels({ name, apiUrl = '', apiKey, fetch, send }: Connection): (id: string) => ChatModel {
  const url = `${apiUrl}/chat/completions`
  const headers = { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) }

  async function post(body: object, { abortSignal }: LanguageModelV4CallOptions): ReturnType<Outbound['send']> {
    const answer = await send(url, { method: 'POST', headers, body: JSON.stringify(body), signal: abortSignal ?? null })
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer
    await answer.body.dump()
    throw refusal(url, answer.statusCode)
  }

  return (id) => {
    const model = new OpenAICompatibleChatLanguageModel(id, {
      provider: `${name}.chat`,
      url: () => url,
      headers: () => headers,
      fetch,
    })
    return {
      async doGenerate(options) {
        const { body } = await model.prepareRequest(options)
        const answer = await post(body, options)
        return model.convertResponse({ body: await answer.body.json() })
      },
      async doStream(options) {
        const { body } = await model.prepareRequest(options)
        const answer = await post({ ...body, stream: true, stream_options: { include_usage: true } }, options)
        return { stream: partsOf(model, answer.body) }
      },
    }
  }
}

/** Text as it comes; at the end the SDK reads what is left, as if it were an answer in one piece. */
async function* partsOf(
  model: OpenAICompatibleChatLanguageModel,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<LanguageModelV4StreamPart, void> {
  const parts = new CompletionParts()
  for await (const data of eventData(bytes)) {
    if (data !== '[DONE]') yield* parts.read(JSON.parse(data) as CompletionChunk)
  }
  const { content, finishReason, usage } = await model.convertResponse({ body: parts.rest() })
  yield* content.filter((part): part is LanguageModelV4ToolCall => part.type === 'tool-call')
  yield { type: 'finish', finishReason, usage }
}

/** Without a word of the provider's. */
const refusal = (url: string, statusCode: number) =>
  new APICallError({ message: `status ${statusCode}`, url, requestBodyValues: undefined, statusCode })
