import { finished } from 'node:stream/promises'
import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { createParser } from 'eventsource-parser'
import type { HttpClient } from '../net/http-client.ts'
import type { ChatModel, ModelConnection } from './chat-model.ts'
import { type CompletionChunk, CompletionParts } from './completion-parts.ts'
import { addMembers } from './extra-members.ts'
import { Refusal } from './failures/refusal.ts'
import { unread } from './failures/unread.ts'
import type { Part, PartBatch } from './provider-stream.ts'
import { completionTotal } from './reported-usage.ts'

/**
 * The AI SDK writes the request and reads the answer; only what lies between is ours, because the SDK's chain of web
 * streams takes longer for a stream than all the rest of a call.
 */
export function compatibleModel(id: string, connection: ModelConnection): ChatModel {
  const { name, apiUrl = '', apiKey, fetch, send, extraMembers, continuousUsage } = connection
  const url = `${apiUrl}/chat/completions`
  const streamOptions = { include_usage: true, ...(continuousUsage && { continuous_usage_stats: true }) }
  const headers = { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) }

  async function post(written: object, { abortSignal }: LanguageModelV4CallOptions): ReturnType<HttpClient['send']> {
    const body = JSON.stringify(addMembers(written, extraMembers))
    const answer = await send(url, { method: 'POST', headers, body, signal: abortSignal ?? null })
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer
    // Read to its end, so that the connection can be used again.
    await finished(answer.body.resume()).catch(() => {})
    throw new Refusal(answer.statusCode, answer.headers['retry-after'])
  }

  const model = new OpenAICompatibleChatLanguageModel(id, {
    provider: `${name}.chat`,
    url: () => url,
    headers: () => headers,
    fetch,
    supportsStructuredOutputs: true,
  })
  return {
    async doGenerate(options) {
      const { body } = await model.prepareRequest(options)
      const answer = await post(body, options)
      let text = ''
      try {
        for await (const piece of answer.body.setEncoding('utf8')) text += piece
        const whole: unknown = JSON.parse(text)
        return { ...(await model.convertResponse({ body: whole })), usage: completionTotal(whole) }
      } catch (error) {
        throw unread(error, text)
      }
    },
    async doStream(options) {
      const { body } = await model.prepareRequest(options)
      const answer = await post({ ...body, stream: true, stream_options: streamOptions }, options)
      return { stream: partsOf(model, answer.body) }
    },
  }
}

/** Yields text as it comes; at the end the SDK reads the rest of the stream as one complete answer. */
async function* partsOf(
  model: OpenAICompatibleChatLanguageModel,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<PartBatch> {
  const parts = new CompletionParts()
  for await (const events of eventData(bytes)) yield events.flatMap((data) => read(parts, data))
  const rest = parts.rest()
  const { content, finishReason } = await model.convertResponse({ body: rest })
  const usage = completionTotal(rest)
  yield [...content.filter((part) => part.type === 'tool-call'), { type: 'finish', finishReason, usage }]
}

/** Decodes server-sent events from bytes; events of one network read are yielded together. */
async function* eventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[], void> {
  const decoder = new TextDecoder()
  let events: string[] = []
  const parser = createParser({ onEvent: ({ data }) => void events.push(data) })
  for await (const chunk of bytes) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    if (events.length > 0) yield events
    events = []
  }
}

function read(parts: CompletionParts, data: string): Part[] {
  if (data === '[DONE]') return []
  try {
    return parts.read(JSON.parse(data) as CompletionChunk)
  } catch (error) {
    // Events before the broken one in the same packet are still delivered.
    return [{ type: 'error', error }]
  }
}
