import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { createClient } from '../../../facades/client/index.ts'
import type { TestApp } from '../app.ts'
import type { TestBrowser } from '../browser.ts'
import { buildUserMessage, createAiRoom, KEY, openContent, waitForAnswer } from '../rooms/ai.ts'
import type { Call, Schema } from './dialects/dialect.ts'
import { joinDeltas, parseEvents } from './event-stream.ts'

/** Options of a request beside the question. */
export interface RequestOptions {
  tools?: { name: string; schema: Schema }[]
  choice?: 'auto' | 'required' | 'none' | { name: string }
  parallelTools?: boolean
  /** True for any JSON. */
  json?: true
  /** The schema of a JSON answer. */
  schema?: Schema
  stop?: string[]
  maxTokens?: number
  seed?: number
}

/** The received answer; the end and the tokens only where the API reports them. */
export interface ReceivedAnswer {
  text: string
  calls: Pick<Call, 'name' | 'input'>[]
  end?: string | null | undefined
  tokens?: { input: number; output: number }
}

/** A person with a token and a browser. */
export interface Sender {
  svc: TestApp
  token: string
  browser: TestBrowser
}

interface Question {
  model: string
  text: string
  wish: RequestOptions
  stream: boolean
}

/** One of the APIs by which a model is called. */
export interface Surface {
  name: string
  /** The API's names for the options; others are not supported there. */
  words: Partial<Record<keyof RequestOptions, string>>
  /** The API's names for the reasons of an answer's end. */
  ends?: Record<'stop' | 'length' | 'calls', string>
  sendQuestion(sender: Sender, question: Question): Promise<ReceivedAnswer>
}

/** Returns the members that are not undefined. */
const omitUndefined = (members: object) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const createOpenAi = ({ svc, token }: Sender) => new OpenAI({ apiKey: token, baseURL: `${svc.url}/v1`, maxRetries: 0 })

const words = { tools: 'tools', choice: 'tool_choice', parallelTools: 'parallel_tool_calls' }
const parseCall = (name: string, input: string) => ({ name, input: JSON.parse(input) })

const chatSurface: Surface = {
  name: 'chat completion',
  words: {
    ...words,
    json: 'response_format',
    schema: 'response_format',
    stop: 'stop',
    maxTokens: 'max_tokens',
    seed: 'seed',
  },
  ends: { stop: 'stop', length: 'length', calls: 'tool_calls' },
  async sendQuestion(sender, { model, text, stream, wish }) {
    const { completions } = createOpenAi(sender).chat
    const body = { ...toCompletionParameters(wish), model, messages: [{ role: 'user' as const, content: text }] }
    const more = { stream: true as const, stream_options: { include_usage: true } }
    return readCompletion(
      stream ? await completions.stream({ ...body, ...more }).finalChatCompletion() : await completions.create(body),
    )
  },
}

const toCompletionParameters = ({
  tools,
  choice,
  json,
  schema,
  maxTokens,
  parallelTools,
  stop,
  seed,
}: RequestOptions) =>
  omitUndefined({
    stop,
    seed,
    max_completion_tokens: maxTokens,
    parallel_tool_calls: parallelTools,
    tools: tools?.map(({ name, schema }) => ({ type: 'function', function: { name, parameters: schema } })),
    tool_choice: typeof choice === 'object' ? { type: 'function', function: choice } : choice,
    response_format: json
      ? { type: 'json_object' }
      : schema && { type: 'json_schema', json_schema: { name: 'answer', schema } },
  })

function readCompletion({ choices, usage }: OpenAI.ChatCompletion): ReceivedAnswer {
  const [{ message, finish_reason } = {}] = choices
  const calls = (message?.tool_calls ?? []).flatMap((call) => (call.type === 'function' ? call.function : []))
  return {
    text: message?.content ?? '',
    end: finish_reason,
    calls: calls.map((call) => parseCall(call.name, call.arguments)),
    tokens: { input: usage?.prompt_tokens ?? 0, output: usage?.completion_tokens ?? 0 },
  }
}

const responseSurface: Surface = {
  name: 'response',
  words: { ...words, json: 'text.format', schema: 'text.format', maxTokens: 'max_output_tokens' },
  ends: { stop: 'completed', length: 'max_output_tokens', calls: 'completed' },
  async sendQuestion(sender, { model, text: input, stream, wish }) {
    const { responses } = createOpenAi(sender)
    const body = { ...toResponseParameters(wish), model, input }
    const answer = await (stream ? responses.stream(body).finalResponse() : responses.create(body))
    const { output, usage, incomplete_details: cut, status } = answer as OpenAI.Responses.Response
    const textParts = output.flatMap((item) => (item.type === 'message' ? item.content : []))
    return {
      text: textParts.map((part) => (part.type === 'output_text' ? part.text : '')).join(''),
      calls: output.flatMap((item) => (item.type === 'function_call' ? parseCall(item.name, item.arguments) : [])),
      end: cut?.reason ?? status,
      tokens: { input: usage?.input_tokens ?? 0, output: usage?.output_tokens ?? 0 },
    }
  },
}

function toResponseParameters({ tools, choice, json, schema, maxTokens, parallelTools }: RequestOptions) {
  const format = json ? { type: 'json_object' } : schema && { type: 'json_schema', name: 'answer', schema }
  return omitUndefined({
    max_output_tokens: maxTokens,
    parallel_tool_calls: parallelTools,
    tools: tools?.map(({ name, schema }) => ({ type: 'function', name, parameters: schema })),
    tool_choice: typeof choice === 'object' ? { type: 'function', ...choice } : choice,
    text: format && { format },
  })
}

type Procedures = ReturnType<typeof createClient>['ai']
type Answer = Awaited<ReturnType<Procedures['complete']['mutate']>>
type Parts = Awaited<ReturnType<Procedures['completeStream']['mutate']>>

const readOwnAnswer = ({ content, finish, usage }: Pick<Answer, 'content' | 'finish' | 'usage'>): ReceivedAnswer => ({
  text: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
  calls: content.flatMap((part) =>
    part.type === 'tool-call' ? { name: part.name, input: JSON.parse(part.input) } : [],
  ),
  end: finish,
  tokens: { input: usage.inputTokens, output: usage.outputTokens },
})

async function collectParts(parts: Parts): Promise<ReceivedAnswer> {
  const content: Answer['content'] = []
  let finish: Answer['finish'] = 'stop'
  for await (const part of parts) {
    if (part.type === 'delta') content.push({ type: 'text', text: part.text })
    if (part.type === 'tool-call') content.push(part)
    if (part.type === 'finish') finish = part.reason
    if (part.type === 'usage') return readOwnAnswer({ content, finish, usage: part })
  }
  throw new Error('the stream ended without its usage')
}

/** The procedures of the service, called by its own client. */
export const procedureSurface: Surface = {
  name: 'tRPC',
  words: { tools: 'tools' },
  ends: { stop: 'stop', length: 'length', calls: 'tool-calls' },
  async sendQuestion({ svc, token }, { model, text, wish, stream }) {
    const { ai } = createClient({ url: svc.url, token })
    const tools = wish.tools?.map(({ name, schema }) => ({ name, inputSchema: schema }))
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]
    const question = { model, messages, ...(tools && { tools }) }
    return stream
      ? collectParts(await ai.completeStream.mutate(question))
      : readOwnAnswer(await ai.complete.mutate(question))
  },
}

/** Asks each question in a new room, and reads the answer from its messages. */
export const roomSurface: Surface = {
  name: 'room',
  words: {},
  async sendQuestion({ svc }, { model, text }) {
    const { id, admin } = await createAiRoom({ svc })
    await admin.post(`/rooms/${id}/actions/ask`, { model, messages: [buildUserMessage(text)], key: KEY })
    const { answer } = await waitForAnswer(admin, id)
    const { attributes } = (await admin.get(`/room-messages/${answer}`)).one
    return { text: (await openContent(attributes['content'])).text, calls: [] }
  },
}

const messageSurface: Surface = {
  name: 'message',
  words: {
    tools: 'tools',
    choice: 'tool_choice',
    parallelTools: 'tool_choice.disable_parallel_tool_use',
    schema: 'output_config.format',
    stop: 'stop_sequences',
    maxTokens: 'max_tokens',
  },
  ends: { stop: 'end_turn', length: 'max_tokens', calls: 'tool_use' },
  async sendQuestion({ svc, token }, { model, text, stream, wish }) {
    const { messages } = new Anthropic({ apiKey: token, baseURL: svc.url, maxRetries: 0 })
    const question = { model, messages: [{ role: 'user' as const, content: text }], max_tokens: wish.maxTokens ?? 1000 }
    const body = { ...toMessageParameters(wish), ...question }
    const answer = stream ? await messages.stream(body).finalMessage() : await messages.create(body)
    const { content, usage, stop_reason: end } = answer
    return {
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      calls: content.flatMap((block) => (block.type === 'tool_use' ? { name: block.name, input: block.input } : [])),
      end,
      tokens: { input: usage.input_tokens, output: usage.output_tokens },
    }
  },
}

function toMessageParameters({ tools, choice, schema, stop, parallelTools }: RequestOptions) {
  const type = typeof choice === 'object' ? 'tool' : choice === 'required' ? 'any' : choice
  const oneByOne = parallelTools === false && { disable_parallel_tool_use: true }
  return omitUndefined({
    tools: tools?.map(({ name, schema }) => ({ name, input_schema: schema })),
    tool_choice: choice && { type, ...(typeof choice === 'object' && choice), ...oneByOne },
    output_config: schema && { format: { type: 'json_schema', schema } },
    stop_sequences: stop,
  })
}

const buildOlderPayload = ({ model, text }: Question) => ({ model, messages: [{ role: 'user', content: { text } }] })

const aiReqSurface: Surface = {
  name: 'ai-req',
  words: {},
  async sendQuestion({ svc, token }, question) {
    const headers = { accept: question.stream ? 'text/event-stream' : 'application/json' }
    const answer = await svc.send('POST', '/api/ai-req', {
      token,
      headers,
      body: { payload: buildOlderPayload(question) },
    })
    if (!question.stream) return { calls: [], ...((await answer.json()) as { content: { text: string } }).content }
    const events = parseEvents(await answer.text())
    const { inputTokens: input, outputTokens: output } = events.find(({ event }) => event === 'usage')?.data ?? {}
    return { text: joinDeltas(events), calls: [], tokens: { input: Number(input), output: Number(output) } }
  },
}

const linesSurface: Surface = {
  name: 'lines',
  words: { maxTokens: 'max_tokens' },
  async sendQuestion({ browser }, question) {
    const { stream, wish } = question
    const payload = { ...buildOlderPayload(question), stream, params: omitUndefined({ max_tokens: wish.maxTokens }) }
    const { text, body } = await browser.send('POST', '/req/streamAI', { body: { payload, broadcast: false } })
    if (!stream) return { calls: [], ...JSON.parse(String(body['content'])) }
    const lines = text.split('\n').flatMap((line) => (line ? JSON.parse(line) : []))
    return { text: lines.map(({ type, content }) => (type === 'message' ? content : '')).join(''), calls: [] }
  },
}

export const surfaces = [chatSurface, responseSurface, messageSurface, aiReqSurface, linesSurface]
