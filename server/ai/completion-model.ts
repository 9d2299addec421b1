import type { Readable } from 'node:stream'
import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4Source,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { createFetch, type HttpClient, type OutboundRequest } from '../net/http-client.ts'
import type { ChatModel, ModelConnection, Part, PartBatch } from './chat-model.ts'
import { type AssembledCall, type Citation, CompletionReader } from './completion-reader.ts'
import { DONE, type Frame, type Progress, parseFrames, readFrames, untilDone, watchEnd } from './event-stream.ts'
import { toUnparsable } from './provider-errors.ts'
import { openAnswer, readAnswer } from './provider-response.ts'
import { asFirstError } from './provider-stream.ts'
import { addMembers, fetchWithMembers } from './sdk-fetch.ts'
import { joinContent } from './whole-answer.ts'

interface CompletionRequest extends OutboundRequest {
  url: string
}

/** Writes the request for an answer. */
type CompletionWriter = (options: LanguageModelV4CallOptions, isStream: boolean) => Promise<CompletionRequest>

/**
 * A model that speaks chat completions: an SDK writes the request, and what the server makes of its answer is read here, the
 * same for each SDK, whole and streamed. Their own readers refuse what servers of this kind send, and their chains of web
 * streams take longer for a stream than all the rest of a call.
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
    const { body } = await readAnswer(this.#connection, url, request, watchEnd(startWatching))
    try {
      return readWhole(body)
    } catch (error) {
      throw toUnparsable(error, body)
    }
  }

  async doStream(options: LanguageModelV4CallOptions) {
    const { url, ...request } = await this.#write(options, true)
    const { body } = await openAnswer(this.#connection, url, request)
    return { stream: readParts(body) }
  }
}

/** Says with each frame how far the answer has come. */
function startWatching() {
  const parts = new CompletionParts()
  return (frame: Frame): Progress => {
    read(parts, frame)
    return frame.data === DONE ? 'over' : parts.progress
  }
}

/** Reads an answer that has come as a whole: a document, or a stream in place of one. */
function readWhole(text: string) {
  const parts = new CompletionParts()
  const said = parseFrames(text).flatMap((frame) => read(parts, frame))
  const failure = said.find((part) => part.type === 'error')
  if (failure) throw asFirstError(failure.error)
  const { calls, ...end } = parts.end()
  return { content: [...joinContent(said), ...calls], ...end }
}

/** Yields text as it comes, and the rest at the end. */
async function* readParts(body: Readable): AsyncGenerator<PartBatch, void> {
  const parts = new CompletionParts()
  let isDone = false
  let document: string | undefined
  const progress = (): Progress => (isDone ? 'over' : parts.progress)
  for await (const frames of readFrames(body, progress)) {
    const known = untilDone(frames)
    isDone = known.at(-1)?.data === DONE
    document = frames.find(({ isDocument }) => isDocument)?.data
    yield known.flatMap((frame) => read(parts, frame))
  }
  try {
    const { calls, ...end } = parts.end()
    yield [...calls, { type: 'finish', ...end }]
  } catch (error) {
    throw document === undefined ? error : toUnparsable(error, document)
  }
}

function read(parts: CompletionParts, { data }: Frame): Part[] {
  if (data === DONE) return []
  try {
    return parts.read(JSON.parse(data))
  } catch (error) {
    // Events before the broken one in the same packet are still delivered.
    return [{ type: 'error', error }]
  }
}

interface End {
  finishReason: LanguageModelV4FinishReason
  usage: LanguageModelV4Usage
  calls: LanguageModelV4ToolCall[]
  providerMetadata?: SharedV4ProviderMetadata
}

/** Turns the frames of a completion into the parts of an answer. */
class CompletionParts {
  readonly #reader = new CompletionReader()
  /** Whether the frame before this one told of tokens. */
  #isCounted = false

  get progress(): Progress {
    return this.#reader.progress
  }

  read(frame: unknown): Part[] {
    const { usage, error, said, calls, cited } = this.#reader.read(frame)
    const parts: Part[] = this.#isCounted || usage ? [{ type: 'usage', tokens: usage }] : []
    this.#isCounted = Boolean(usage)
    if (error) parts.push({ type: 'error', error })
    for (const { type, text } of said) parts.push({ type: `${type}-delta`, id: '0', delta: text })
    for (const { at, arguments: delta } of calls) parts.push({ type: 'tool-input-delta', id: `${at}`, delta })
    for (const citation of cited) parts.push(toSource(citation))
    return parts
  }

  /** Returns everything that was not yielded yet. */
  end(): End {
    const { calls, stopSequence, ...end } = this.#reader.end()
    const told = stopSequence === undefined ? {} : { providerMetadata: { compatible: { stopSequence } } }
    return { ...end, ...told, calls: calls.map(toToolCall) }
  }
}

const toSource = ({ url, title }: Citation): LanguageModelV4Source => ({
  type: 'source',
  sourceType: 'url',
  id: url,
  url,
  ...(title && { title }),
})

/** Google wants its proof of a call back. */
function toToolCall({ id = '', name: toolName, arguments: input, extraContent }: AssembledCall) {
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
  const take = createFetch(async (url, request) => {
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
