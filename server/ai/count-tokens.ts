import { finished } from 'node:stream/promises'
import { z } from 'zod'
import type { Adapter } from '../../routers/ports/ai/adapters.ts'
import type { ModelCall } from '../../routers/ports/ai/models.ts'
import type { HttpClient } from '../net/http-client.ts'
import { adapterDrivers } from './adapters.ts'
import { type Connection, upstreamName } from './chat-model.ts'
import { Conversation } from './conversation.ts'
import { extraMembers } from './parameters.ts'
import type { ProviderClient } from './provider-clients.ts'
import { Refusal } from './provider-errors.ts'

const COUNT_TIMEOUT_MS = 10_000
/** Of an answer, which is one number. */
const MAX_BYTES = 64 * 1024

/**
 * How many tokens the provider counts as the input of a call; undefined where it counts none, or answers no calls now. Throws
 * where it does not say. A counter that fails opens no circuit: calls may be answered all the same.
 */
export async function countTokens(client: ProviderClient, call: ModelCall): Promise<number | undefined> {
  const { adapter } = client
  const counter = counters[adapter]
  const { connection } = client.findWell() ?? {}
  if (!counter || !connection) return undefined
  const written = await writeRequest(call, connection)
  const count = counter.request(written.url, JSON.parse(written.body))
  if (!count) return undefined
  const answer = await connection.send(count.url, {
    method: 'POST',
    headers: written.headers,
    body: JSON.stringify(count.body),
    signal: AbortSignal.any([call.signal, AbortSignal.timeout(COUNT_TIMEOUT_MS)]),
  })
  if (answer.statusCode === 200) return counter.answer.parse(JSON.parse(await readText(answer.body)))
  // Read to its end, so that the connection can be used again.
  await finished(answer.body.resume()).catch(() => {})
  throw new Refusal(answer.statusCode, answer.headers['retry-after'])
}

interface Written {
  url: string
  headers: Record<string, string>
  body: string
}

/** The request for an answer as the AI SDK writes it, which is not sent. */
async function writeRequest(call: ModelCall, connection: Connection): Promise<Written> {
  let written: Written | undefined
  const keep: HttpClient['read'] = async (url, { headers, body }) => {
    written = { url, headers, body: String(body) }
    throw new Error('it is not sent')
  }
  const { model: known, signal } = call
  const of = { ...connection, read: keep, extraMembers: extraMembers(known) }
  const model = adapterDrivers[known.adapter as Adapter].model(upstreamName(known), of)
  try {
    await model.doGenerate(new Conversation(call).options(signal, false))
  } catch (error) {
    if (!written) throw error
  }
  if (!written) throw new Error('nothing was written')
  return written
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

/** How a provider is asked how many tokens a request for an answer takes as input. */
interface Counter {
  /** The request for a count, by that for an answer; undefined where there is none at its address. */
  request(url: string, body: Body): { url: string; body: Body } | undefined
  answer: z.ZodType<number>
}

const tokens = z.int().min(0).max(100_000_000)

const inputTokens = z.object({ input_tokens: tokens }).transform((answer) => answer.input_tokens)

/** What is said of the answer alone, a request for a count must not have. */
const only = (body: Body, names: readonly string[]): Body =>
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
    request: (url, body) => ({ url: `${url}/count_tokens`, body: only(body, anthropicMembers) }),
    answer: inputTokens,
  },
  openai: {
    request: (url, body) =>
      url.endsWith('/responses') ? { url: `${url}/input_tokens`, body: only(body, openAiMembers) } : undefined,
    answer: inputTokens,
  },
  google: {
    request(url, body) {
      const [, model = ''] = /\/(models\/[^/]+):generateContent$/.exec(url) ?? []
      const counting = url.replace(/:generateContent$/, ':countTokens')
      return { url: counting, body: { generateContentRequest: { model, ...body } } }
    },
    answer: z.object({ totalTokens: tokens }).transform(({ totalTokens }) => totalTokens),
  },
}
