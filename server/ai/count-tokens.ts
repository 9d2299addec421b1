import { finished } from 'node:stream/promises'
import { z } from 'zod'
import type { Adapter } from '../../routers/ports/ai/adapters.ts'
import type { ModelCall } from '../../routers/ports/ai/models.ts'
import type { HttpClient } from '../net/http-client.ts'
import { adapterDrivers } from './adapters.ts'
import { type Connection, getUpstreamName } from './chat-model.ts'
import { Conversation } from './conversation.ts'
import { pickExtraMembers } from './parameters.ts'
import type { ProviderClient } from './provider-clients.ts'
import { ProviderStatusError } from './provider-errors.ts'

const COUNT_TIMEOUT_MS = 10_000
/** Size limit of a response, which is a single number. */
const MAX_BYTES = 64 * 1024

/**
 * Returns the provider's count of the input tokens of a call; undefined if it has no such API or is down. Throws if the
 * request fails. Failures don't count for the circuit breaker, since calls may still succeed.
 */
export async function countTokens(client: ProviderClient, call: ModelCall): Promise<number | undefined> {
  const { adapter } = client
  const counter = counters[adapter]
  const { connection } = client.findHealthyServer() ?? {}
  if (!counter || !connection) return undefined
  const draft = await draftRequest(call, connection)
  const count = counter.request(draft.url, JSON.parse(draft.body))
  if (!count) return undefined
  const response = await connection.send(count.url, {
    method: 'POST',
    headers: draft.headers,
    body: JSON.stringify(count.body),
    signal: AbortSignal.any([call.signal, AbortSignal.timeout(COUNT_TIMEOUT_MS)]),
  })
  if (response.statusCode === 200) return counter.response.parse(JSON.parse(await readText(response.body)))
  // Read the body to its end, so that the connection can be reused.
  await finished(response.body.resume()).catch(() => {})
  throw new ProviderStatusError(response.statusCode, response.headers)
}

interface RequestDraft {
  url: string
  headers: Record<string, string>
  body: string
}

/** Returns the request that the AI SDK would send for the call, without sending it. */
async function draftRequest(call: ModelCall, connection: Connection): Promise<RequestDraft> {
  let draft: RequestDraft | undefined
  const captureRequest: HttpClient['read'] = async (url, { headers, body }) => {
    draft = { url, headers, body: String(body) }
    throw new Error('it is not sent')
  }
  const { model: callableModel, signal } = call
  const modelConnection = { ...connection, read: captureRequest, extraMembers: pickExtraMembers(callableModel) }
  const model = adapterDrivers[callableModel.adapter as Adapter].model(getUpstreamName(callableModel), modelConnection)
  try {
    await model.doGenerate(new Conversation(call).buildOptions(signal, false))
  } catch (error) {
    if (!draft) throw error
  }
  if (!draft) throw new Error('nothing was written')
  return draft
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error('the count of tokens is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

type Body = Readonly<Record<string, unknown>>

/** API of a provider to count input tokens. */
interface Counter {
  /** Builds the request for a count from the request for an answer; undefined if its address has no such API. */
  request(url: string, body: Body): { url: string; body: Body } | undefined
  response: z.ZodType<number>
}

const tokens = z.int().min(0).max(100_000_000)

const inputTokens = z.object({ input_tokens: tokens }).transform((response) => response.input_tokens)

/** Keeps only the members that a request for a count accepts. */
const pickMembers = (body: Body, names: readonly string[]): Body =>
  Object.fromEntries(names.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])))

const anthropicMembers = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config']
const openAiMembers = [
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'text',
]

const counters: Partial<Record<Adapter, Counter>> = {
  anthropic: {
    request: (url, body) => ({ url: `${url}/count_tokens`, body: pickMembers(body, anthropicMembers) }),
    response: inputTokens,
  },
  openai: {
    request: (url, body) =>
      url.endsWith('/responses') ? { url: `${url}/input_tokens`, body: pickMembers(body, openAiMembers) } : undefined,
    response: inputTokens,
  },
  google: {
    request(url, body) {
      const [, model = ''] = /\/(models\/[^/]+):generateContent$/.exec(url) ?? []
      const counting = url.replace(/:generateContent$/, ':countTokens')
      return { url: counting, body: { generateContentRequest: { model, ...body } } }
    },
    response: z.object({ totalTokens: tokens }).transform(({ totalTokens }) => totalTokens),
  },
}
