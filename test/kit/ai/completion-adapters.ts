import type { ServerResponse } from 'node:http'
import { signIn } from '../browser.ts'
import type { ExpectedAnswer } from './completion-cases.ts'
import { parseEvents } from './event-stream.ts'
import { buildModel, buildProvider, startWithConfig } from './model-config.ts'
import { type ProviderRequest, stalls, startProvider } from './provider.ts'

/** The adapters that read chat completions. */
export const completionAdapters = ['openai-compatible', 'mistral', 'openai'] as const

const buildFunction = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } })
const tools = [buildFunction('find'), buildFunction('now')]
const pricing = { currency: 'EUR', inputPerMillion: 1, outputPerMillion: 2 }
const settings = { thinkTags: true }
type Json = Record<string, unknown>

interface Choice {
  delta?: Message
  message?: Message
  finish_reason?: string | null
}

interface Message {
  content?: string | null
  reasoning_content?: string
  tool_calls?: { id: string; function: { name: string; arguments: string } }[]
}

interface Completion {
  choices?: Choice[]
  error?: object
  usage?: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details: { cached_tokens: number } }
}

/** A service with a model behind each adapter that reads chat completions. */
export async function startCompletionAdapters() {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(stalls))
  const connection = { apiUrl: upstream.url, apiKey: 'provider-key' }
  const providers = completionAdapters.map((adapter) =>
    buildProvider(adapter, [buildModel(adapter, { pricing, settings, limits: { maxOutputTokens: 1000 } })], {
      adapter,
      ...connection,
    }),
  )
  // One that is known to think between tags, and one that is not.
  providers.push(buildProvider('others', [buildModel('deepseek-r1'), buildModel('plain')], connection))
  const { svc } = resources.use(
    await startWithConfig(
      { providers, systemModels: { default: completionAdapters[0] } },
      { ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true' },
    ),
  )
  const { token } = await svc.user()
  const { browser } = await signIn(svc, 'reader')
  const disposables = resources.move()
  const send = (path: string, body: Json, headers = {}) => svc.send('POST', path, { token, body, headers })
  const messages = [{ role: 'user', content: 'Hello' }]

  return {
    svc,
    upstream,
    send,
    /** Has the provider write these bytes, whatever it is asked for. */
    answerWith(write: (response: ServerResponse, request: ProviderRequest) => unknown) {
      upstream.requests.length = 0
      upstream.behave = async (request, response) => void (await write(response, request))
    },
    /** Asks by a chat completion. OpenAI's model is asked by its older interface where a seed is set. */
    async chat(
      name: string,
      stream: boolean,
      more: Json = {},
    ): Promise<ExpectedAnswer & { ids: string[]; status: number }> {
      const request = { model: name, messages, tools, seed: 1, stream, ...more }
      const response = await send('/v1/chat/completions', { ...request, ...(stream && USAGE_OPTION) })
      const text = await response.text()
      return { status: response.status, ...parseAnswer(stream && response.ok ? parseFrames(text) : [JSON.parse(text)]) }
    },
    /** Returns how each other API reports the end of an answer. */
    async ends(name: string, stream: boolean): Promise<Record<string, unknown>> {
      const accept = { accept: stream ? 'text/event-stream' : 'application/json' }
      const payload = { model: name, messages: [{ role: 'user', content: { text: 'Hello' } }] }
      const older = { payload: { ...payload, stream }, broadcast: false }
      const [message, response, aiReq, lines] = await Promise.all([
        send('/v1/messages', { model: name, max_tokens: 100, messages, stream }),
        send('/v1/responses', { model: name, input: 'Hello', stream }),
        send('/api/ai-req', { payload }, accept),
        browser.send('POST', '/req/streamAI', { body: older }),
      ])
      return {
        messages: findLastMatch(await message.text(), /"stop_reason":"(\w+)"/g),
        responses: findLastMatch(await response.text(), /"object":"response",[^{]*"status":"(incomplete|completed)"/g),
        aiReq: readCut(await aiReq.text(), stream),
        lines: /"type":"completion"|"success":true/.test(lines.text) ? 'answer' : 'error',
      }
    },
    async bill() {
      await svc.services.ai.usageLedger.flush()
      const [bill] = await svc.rows<Json>(
        `select input_tokens as input, output_tokens as output, cached_tokens as cached, estimated,
                cost_micros::int as cost from usage_records order by id desc limit 1`,
      )
      return bill
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

const USAGE_OPTION = { stream_options: { include_usage: true } }

const parseFrames = (text: string): Completion[] =>
  text.split('\n').flatMap((line) => (line.startsWith('data: {') ? JSON.parse(line.slice(6)) : []))

const findLastMatch = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].at(-1)?.[1] ?? 'error'

function readCut(text: string, stream: boolean): unknown {
  if (!stream || text.startsWith('{')) {
    const { success, cut } = JSON.parse(text)
    return success ? (cut ?? 'whole') : 'error'
  }
  const events = parseEvents(text)
  if (events.at(-1)?.event !== 'done') return 'error'
  return events.find(({ event }) => event === 'usage')?.data['cut'] ?? 'whole'
}

function readTokens(usage: NonNullable<Completion['usage']>): NonNullable<ExpectedAnswer['tokens']> {
  const { cached_tokens: cached } = usage.prompt_tokens_details
  return cached
    ? [usage.prompt_tokens, usage.completion_tokens, cached]
    : [usage.prompt_tokens, usage.completion_tokens]
}

function parseAnswer(frames: readonly Completion[]): ExpectedAnswer & { ids: string[] } {
  const choices = frames.flatMap((frame) => frame.choices ?? [])
  const parts = choices.flatMap(({ delta, message }) => delta ?? message ?? [])
  const joined = (name: 'content' | 'reasoning_content') => parts.map((one) => one[name] ?? '').join('')
  const calls = parts.flatMap((one) => one.tool_calls ?? [])
  const usage = frames.findLast((frame) => frame.usage)?.usage
  const [text, thoughts] = [joined('content'), joined('reasoning_content')]
  const isError = frames.some(({ error }) => error)
  const end = isError ? 'error' : choices.findLast((choice) => choice.finish_reason)?.finish_reason
  return {
    end: end as ExpectedAnswer['end'],
    ids: calls.map(({ id }) => id),
    ...(text && { text }),
    ...(thoughts && { thoughts }),
    ...(calls.length > 0 && {
      calls: calls.map(({ function: { name, arguments: input } }): [string, string] => [name, input]),
    }),
    ...(usage && { tokens: readTokens(usage) }),
  }
}
