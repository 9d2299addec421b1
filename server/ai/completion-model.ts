import type { Readable } from 'node:stream'
import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import type {
  JSONArray,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { createFetch, type HttpClient, type OutboundRequest } from '../net/http-client.ts'
import type { ChatModel, ModelConnection, Part, PartBatch } from './chat-model.ts'
import { toSource } from './citations.ts'
import { type AssembledCall, CompletionReader } from './completion-reader.ts'
import {
  createEndWatch,
  cutAfterDone,
  DONE,
  parseEvents,
  readEvents,
  type StreamEvent,
  type StreamProgress,
} from './event-stream.ts'
import { joinContent } from './generate-result.ts'
import { toUnparsableError } from './provider-errors.ts'
import { openResponse, readResponse } from './provider-response.ts'
import { toFirstError } from './provider-stream.ts'
import { mergeMembers, withExtraMembers } from './sdk-fetch.ts'

interface CompletionRequest extends OutboundRequest {
  url: string
}

/** Builds the HTTP request for a completion. */
type CompletionWriter = (options: LanguageModelV4CallOptions, isStream: boolean) => Promise<CompletionRequest>

/**
 * A model that speaks the Chat Completions protocol. An SDK builds the request, and our own reader parses the response,
 * streamed or not, the same way for each SDK. The readers of the SDKs reject what some servers send, and their chains
 * of web streams take longer than the rest of a streamed call.
 */
export class CompletionModel implements ChatModel {
  readonly #connection: ModelConnection
  readonly #write: CompletionWriter

  constructor(connection: ModelConnection, write: CompletionWriter) {
    this.#connection = connection
    this.#write = write
  }

  async doGenerate(options: LanguageModelV4CallOptions) {
    const { url, ...request } = await this.#write(options, false)
    const { body } = await readResponse(this.#connection, url, request, createEndWatch(createProgressWatch))
    try {
      return readCompleteBody(body)
    } catch (error) {
      throw toUnparsableError(error, body)
    }
  }

  async doStream(options: LanguageModelV4CallOptions) {
    const { url, ...request } = await this.#write(options, true)
    const { body } = await openResponse(this.#connection, url, request)
    return { stream: readParts(body) }
  }
}

/** Returns a function that reports the progress of the answer after each event. */
function createProgressWatch() {
  const parts = new CompletionPartReader()
  return (event: StreamEvent): StreamProgress => {
    readEvent(parts, event)
    return event.data === DONE ? 'over' : parts.progress
  }
}

/** Reads a complete response: a JSON document, or a stream sent in its place. */
function readCompleteBody(text: string) {
  const parts = new CompletionPartReader()
  const content = parseEvents(text).flatMap((event) => readEvent(parts, event))
  const failure = content.find((part) => part.type === 'error')
  if (failure) throw toFirstError(failure.error)
  const { calls, ...end } = parts.end()
  return { content: [...joinContent(content), ...calls], ...end }
}

/** Yields text as it comes, and tool calls at the end. */
async function* readParts(body: Readable): AsyncGenerator<PartBatch, void> {
  const parts = new CompletionPartReader()
  let isDone = false
  let document: string | undefined
  const progress = (): StreamProgress => (isDone ? 'over' : parts.progress)
  for await (const events of readEvents(body, progress)) {
    const newEvents = cutAfterDone(events)
    isDone = newEvents.at(-1)?.data === DONE
    document = events.find(({ isDocument }) => isDocument)?.data
    yield newEvents.flatMap((event) => readEvent(parts, event))
  }
  try {
    const { calls, ...end } = parts.end()
    yield [...calls, { type: 'finish', ...end }]
  } catch (error) {
    throw document === undefined ? error : toUnparsableError(error, document)
  }
}

function readEvent(parts: CompletionPartReader, { data }: StreamEvent): Part[] {
  if (data === DONE) return []
  try {
    return parts.read(JSON.parse(data))
  } catch (error) {
    // Events before the broken one in the same packet are still delivered.
    return [{ type: 'error', error }]
  }
}

interface CompletionFinish {
  finishReason: LanguageModelV4FinishReason
  usage: LanguageModelV4Usage
  calls: LanguageModelV4ToolCall[]
  providerMetadata?: SharedV4ProviderMetadata
}

/** Converts completion events to parts of an answer. */
class CompletionPartReader {
  readonly #reader = new CompletionReader()
  /** True if the previous event reported tokens. */
  #isCounted = false

  get progress(): StreamProgress {
    return this.#reader.progress
  }

  read(event: unknown): Part[] {
    const { usage, error, texts, calls, citations: cited } = this.#reader.read(event)
    const parts: Part[] = this.#isCounted || usage ? [{ type: 'usage', tokens: usage }] : []
    this.#isCounted = Boolean(usage)
    if (error) parts.push({ type: 'error', error })
    for (const { type, text } of texts) parts.push({ type: `${type}-delta`, id: '0', delta: text })
    for (const { at, arguments: delta } of calls) parts.push({ type: 'tool-input-delta', id: `${at}`, delta })
    for (const { url, title } of cited) parts.push(toSource(url, title))
    return parts
  }

  /** Returns everything that was not yielded yet. */
  end(): CompletionFinish {
    const { calls, stopSequence, logprobs, ...end } = this.#reader.end()
    const compatible: SharedV4ProviderMetadata[string] = {
      ...(stopSequence !== undefined && { stopSequence }),
      ...(logprobs.length > 0 && { logprobs: logprobs as unknown as JSONArray }),
    }
    const metadata = Object.keys(compatible).length > 0 ? { providerMetadata: { compatible } } : {}
    return { ...end, ...metadata, calls: calls.map(toSdkToolCall) }
  }
}

/** Google needs its thought signature back with the call. */
function toSdkToolCall({ id = '', name: toolName, arguments: input, extraContent }: AssembledCall) {
  const { google } = (extraContent ?? {}) as { google?: { thought_signature?: unknown } | null }
  const thoughtSignature = google?.thought_signature
  return {
    type: 'tool-call' as const,
    toolCallId: id,
    toolName,
    input,
    ...(typeof thoughtSignature === 'string' && { providerMetadata: { compatible: { thoughtSignature } } }),
  }
}

/** Builds requests with the SDK for servers that speak Chat Completions. */
export function createCompatibleWriter(id: string, connection: ModelConnection): CompletionWriter {
  const { apiUrl = '', apiKey, fetch, continuousUsage, extraMembers } = connection
  const url = `${apiUrl}/chat/completions`
  const headers = { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) }
  const sdk = new OpenAICompatibleChatLanguageModel(id, {
    // The SDK reads provider options and writes metadata under the first word.
    provider: 'compatible.chat',
    url: () => url,
    headers: () => headers,
    fetch,
    supportsStructuredOutputs: true,
  })
  const streamMembers = {
    stream: true,
    stream_options: { include_usage: true, ...(continuousUsage && { continuous_usage_stats: true }) },
  }
  return async (options, isStream) => {
    const { body } = await sdk.prepareRequest(options)
    const request = mergeMembers({ ...body, ...(isStream && streamMembers) }, extraMembers)
    return { url, method: 'POST', headers, body: JSON.stringify(request), signal: options.abortSignal ?? null }
  }
}

/** Builds requests with an SDK that can only send them: its `fetch` captures the request and throws. */
export function createSdkWriter(
  { extraMembers }: ModelConnection,
  load: (fetch: HttpClient['fetch']) => Promise<LanguageModelV4>,
): CompletionWriter {
  const captureRequest = createFetch(async (url, request) => {
    throw new CapturedRequest({ ...request, url })
  })
  const loadModel = lazyPromise(() => load(withExtraMembers(captureRequest, extraMembers)))
  return async (options, isStream) => {
    const model = await loadModel()
    try {
      await (isStream ? model.doStream(options) : model.doGenerate(options))
    } catch (error) {
      if (error instanceof CapturedRequest) return error.request
      throw error
    }
    throw new Error('the SDK has sent nothing')
  }
}

class CapturedRequest extends Error {
  readonly request: CompletionRequest

  constructor(request: CompletionRequest) {
    super('it is written, and not sent')
    this.request = request
  }
}
