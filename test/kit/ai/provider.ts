import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { untilRead } from '../until-read.ts'

/** A request that the provider got. */
export interface ProviderRequest {
  path: string
  headers: IncomingMessage['headers']
  /** The body as it came. */
  sent: string
  body: { model: string; messages: { role: string; content: string }[]; stream?: boolean; tools?: unknown[] } & Record<
    string,
    unknown
  >
  /** The time, by `performance.now()`, at which the connection closed before the answer was complete. */
  abortedAt?: number
}

/** Reads the body of a request; undefined if it broke off or gets no answer. */
type ReadBody = (request: IncomingMessage, response: ServerResponse) => Promise<string | undefined>

export type Behaviour = (received: ProviderRequest, response: ServerResponse) => void | Promise<void>

/** An AI provider that speaks the OpenAI protocol over real HTTP and behaves as a test tells it. */
export async function startProvider(behave: Behaviour = answers('Good day.')) {
  const listing: unknown = { data: [{ id: 'mock-1' }] }
  const read: ReadBody = readBody
  const provider = {
    behave,
    read,
    listing,
    requests: [] as ProviderRequest[],
    listRequests: [] as ProviderRequest[],
    connections: 0,
    broken: 0,
  }
  const server = createServer(async (request, response) => {
    const sent = await provider.read(request, response).catch(() => void provider.broken++)
    if (sent === undefined) return
    const { url: path = '', headers } = request
    const received: ProviderRequest = { path, headers, sent, body: JSON.parse(sent || '{}') }
    const list = request.method === 'POST' ? provider.requests : provider.listRequests
    list.push(received)
    response.once('close', () => {
      if (!response.writableFinished) received.abortedAt = performance.now()
    })
    if (request.method === 'GET') sendJson(response, provider.listing)
    else await provider.behave(received, response)
  })
  server.on('connection', () => provider.connections++)
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 })
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return Object.assign(provider, {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  })
}

/** A detail of the provider that no response may contain. */
export const canary = 'CANARY-PROVIDER-DETAIL'

const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }

/** Answers with a text: at once, or in pieces where a stream is asked for. */
export const answers =
  (text: string, pieces = text.split(/(?<= )/), tokens = usage): Behaviour =>
  async ({ body }, response) => {
    if (!body.stream) return sendJson(response, buildCompletion(text, tokens))
    beginStream(response)
    for (const piece of pieces) response.write(buildChunk({ delta: { content: piece } }))
    endStream(response, tokens)
  }

/** Answers with a status and a body that must not reach anybody. */
export const refuses =
  (status: number, message = canary): Behaviour =>
  (_, response) =>
    sendJson(response, { error: { message } }, status)

/** Answers with bytes of any kind. */
export const replies =
  (body: string, { status = 200, type = 'application/json' } = {}): Behaviour =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': type }).end(body)

/** Streams a piece and then ends: with a closed connection, a normal end, or an error event. */
export const breaksOff =
  (how: 'reset' | 'end' | 'error', word = canary): Behaviour =>
  async (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'Half an ' } }))
    await untilRead(response)
    if (how === 'reset') return void response.destroy()
    if (how === 'error') response.write(`data: ${JSON.stringify({ error: { message: word, code: word } })}\n\n`)
    response.end()
  }

/** Streams a word repeatedly until the client disconnects. */
export const repeats =
  (word: string): Behaviour =>
  async (received, response) => {
    beginStream(response)
    while (!received.abortedAt) {
      response.write(buildChunk({ delta: { content: `${word} ` } }))
      await pause(20)
    }
  }

export const neverEnds = repeats('more')

/** Uses one behaviour after the other; the last one stays. */
export const behavesInTurn = (...behaviours: Behaviour[]): Behaviour => {
  const remaining = [...behaviours]
  return (received, response) => (remaining.length > 1 ? remaining.shift() : remaining[0])?.(received, response)
}

/** Calls a tool until it gets a result, then answers; each step counts so many tokens. */
export const callsTool = (name: string, input: string, answer = 'The tool was of help.', tokens = usage): Behaviour =>
  callsTools([{ name, input }], answer, tokens)

/** The same for several calls in one round. */
export const callsTools = (
  toolCalls: readonly { name: string; input: string }[],
  answer = 'The tools were of help.',
  tokens = usage,
): Behaviour => {
  const calls = toolCalls.map(({ name, input }, index) => ({
    index,
    id: `call-${index + 1}`,
    type: 'function',
    function: { name, arguments: input },
  }))
  return (received, response) => {
    if (received.body.messages.some(({ role }) => role === 'tool'))
      return answers(answer, undefined, tokens)(received, response)
    const choice = { message: { role: 'assistant', content: null, tool_calls: calls }, finish_reason: 'tool_calls' }
    if (!received.body.stream)
      return sendJson(response, { ...buildCompletion('', tokens), choices: [{ index: 0, ...choice }] })
    beginStream(response)
    response.write(buildChunk({ delta: { role: 'assistant', tool_calls: calls } }))
    response.write(buildChunk({ delta: {}, finish_reason: 'tool_calls' }, { usage: tokens }))
    response.end('data: [DONE]\n\n')
  }
}

type EmbeddingBody = Partial<Record<'dimensions' | 'output_dimension', number>> & {
  input?: unknown[]
  encoding_format?: string
}

/** Answers with embeddings of three numbers, or as many as are asked for, that tell one input from another. */
export const embeds: Behaviour = ({ body }, response) => {
  const {
    input = [],
    dimensions,
    output_dimension: length = dimensions ?? 3,
    encoding_format,
  } = body as unknown as EmbeddingBody
  const data = input.map((one, index) => {
    const numbers = Float32Array.from({ length }, (_, at) => JSON.stringify(one).length + at / 4)
    const bytes = Buffer.from(numbers.buffer).toString('base64')
    return { object: 'embedding', index, embedding: encoding_format === 'base64' ? bytes : [...numbers] }
  })
  // Servers may answer in another order.
  sendJson(response, { object: 'list', data: data.toReversed(), model: body.model, usage: { prompt_tokens: 9 } })
}

/** Accepts the request and never answers. */
export const stalls: Behaviour = () => pause(60_000, undefined, { ref: false })

export const buildCompletion = (content: string, tokens = usage) => ({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'mock-1',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: tokens,
})

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
}

export function buildChunk(choice: object, more: object = {}): string {
  const body = {
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'mock-1',
    choices: [{ index: 0, ...choice }],
  }
  return `data: ${JSON.stringify({ ...body, ...more })}\n\n`
}

export function endStream(response: ServerResponse, tokens = usage): void {
  response.write(buildChunk({ delta: {}, finish_reason: 'stop' }, { usage: tokens }))
  response.end('data: [DONE]\n\n')
}

export async function readBody(request: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}

/** A configuration file with one provider and its model `mock-1`; `provider` and `model` add to or replace their members. */
export async function writeConfig(url: string, { provider = {}, model = {}, more = {} } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-config-'))
  const file = join(folder, 'ai.json')
  const write = (config: unknown) => writeFile(file, JSON.stringify(config))
  const config = {
    providers: [
      {
        id: 'local',
        adapter: 'openai-compatible',
        apiUrl: url,
        apiKey: 'provider-key',
        models: [{ id: 'mock-1', label: 'Mock 1', external: true, ...model }],
        ...provider,
      },
    ],
    systemModels: { default: 'mock-1' },
    ...more,
  }
  await write(config)
  return { file, config, write, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

/** The body of a request. */
export const buildQuestion = (text = 'Hello', model = 'mock-1') => ({
  payload: { model, messages: [{ role: 'user', content: { text } }] },
})
