import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { createParser } from 'eventsource-parser'
import { openAnswer, readAnswer } from './answers.ts'
import type { ChatModel, ModelConnection } from './chat-model.ts'
import { type CompletionChunk, CompletionParts } from './completion-parts.ts'
import { addMembers } from './extra-members.ts'
import { noStream, unread } from './failures/unread.ts'
import type { Part, PartBatch } from './provider-stream.ts'
import { completionTotal } from './usage/reported.ts'

/**
 * The AI SDK writes the request and reads the answer; only what lies between is ours, because the SDK's chain of web
 * streams takes longer for a stream than all the rest of a call.
 */
export class CompatibleModel implements ChatModel {
  readonly #connection: ModelConnection
  readonly #sdk: OpenAICompatibleChatLanguageModel
  readonly #url: string
  readonly #headers: Record<string, string>

  constructor(id: string, connection: ModelConnection) {
    const { apiUrl = '', apiKey, fetch } = connection
    const url = `${apiUrl}/chat/completions`
    const headers = { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) }
    this.#connection = connection
    this.#url = url
    this.#headers = headers
    this.#sdk = new OpenAICompatibleChatLanguageModel(id, {
      // Its first word is where the SDK reads options and keeps proofs.
      provider: 'compatible.chat',
      url: () => url,
      headers: () => headers,
      fetch,
      supportsStructuredOutputs: true,
    })
  }

  async doGenerate(options: LanguageModelV4CallOptions) {
    const { body } = await this.#sdk.prepareRequest(options)
    const { body: text } = await readAnswer(this.#connection, this.#url, this.#requestOf(body, options))
    try {
      const whole: unknown = JSON.parse(text)
      return { ...(await this.#sdk.convertResponse({ body: whole })), usage: completionTotal(whole) }
    } catch (error) {
      throw unread(error, text)
    }
  }

  async doStream(options: LanguageModelV4CallOptions) {
    const { body } = await this.#sdk.prepareRequest(options)
    const { continuousUsage } = this.#connection
    const stream_options = { include_usage: true, ...(continuousUsage && { continuous_usage_stats: true }) }
    const request = this.#requestOf({ ...body, stream: true, stream_options }, options)
    const answer = await openAnswer(this.#connection, this.#url, request)
    return { stream: partsOf(this.#sdk, answer.body) }
  }

  #requestOf(written: object, { abortSignal }: LanguageModelV4CallOptions) {
    return {
      method: 'POST' as const,
      headers: this.#headers,
      body: JSON.stringify(addMembers(written, this.#connection.extraMembers)),
      signal: abortSignal ?? null,
    }
  }
}

/** Yields text as it comes, and the rest at the end. */
async function* partsOf(
  model: OpenAICompatibleChatLanguageModel,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<PartBatch> {
  const parts = new CompletionParts()
  for await (const events of eventData(bytes)) yield events.flatMap((data) => read(parts, data))
  const { finishReason, usage, calls } = parts.end()
  yield [...(calls ? await callsIn(calls, model) : []), { type: 'finish', finishReason, usage }]
}

/** The SDK reads the calls of tools as it does in a complete answer, which takes a while. */
async function callsIn(answer: object, model: OpenAICompatibleChatLanguageModel): Promise<Part[]> {
  const { content } = await model.convertResponse({ body: answer })
  return content.filter((part) => part.type === 'tool-call')
}

/** Decodes server-sent events from bytes; events of one network read are yielded together. Throws where there are none. */
async function* eventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[], void> {
  const decoder = new TextDecoder()
  let events: string[] = []
  let before: string | undefined = ''
  const parser = createParser({
    onEvent: ({ data }) => {
      before = undefined
      events.push(data)
    },
  })
  try {
    for await (const chunk of bytes) {
      const text = decoder.decode(chunk, { stream: true })
      if (before !== undefined) before += text
      parser.feed(text)
      if (events.length > 0) yield events
      events = []
    }
  } catch (error) {
    throw before === undefined ? error : unread(error, before)
  }
  if (before !== undefined) throw noStream(before)
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
