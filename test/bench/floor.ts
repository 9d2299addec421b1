import fastify, { type FastifyReply } from 'fastify'
import pg from 'pg'
import { Pool } from 'undici'
import { servePart } from './serve.ts'

interface Input {
  databaseUrl: string
  upstreamUrl: string
}

interface Question {
  payload: { model: string; messages: { role: string; content: { text: string } }[] }
}

const findToken = { name: 'floor-token', text: 'select user_id, hash from access_tokens where id = $1' }
const insertUsage = {
  name: 'floor-usage',
  text: `insert into usage_records (user_id, token_id, context, provider, model, input_tokens, output_tokens, outcome,
         duration_ms, request_id) values ($1, $2, 'api', 'floor', $3, $4, $5, 'completed', $6, $7)`,
}

/** The least program that answers the same requests: no rules, no records of failures, no logging, no limits. */
servePart(async ({ databaseUrl, upstreamUrl }: Input) => {
  const database = new pg.Pool({ connectionString: databaseUrl, max: 10 })
  const { origin, pathname } = new URL(upstreamUrl)
  const upstream = new Pool(origin, { pipelining: 1 })
  const headers = { authorization: 'Bearer bench', 'content-type': 'application/json' }
  const app = fastify({ bodyLimit: 64 * 1024 * 1024 })

  app.post<{ Body: Question }>('/api/ai-req', async (request, reply) => {
    const started = performance.now()
    const tokenId = Number(request.headers.authorization?.split('_', 2)[1])
    const { rows } = await database.query({ ...findToken, values: [tokenId] })
    if (!rows[0]) return reply.code(401).send({ success: false })
    const { model, messages } = request.body.payload
    const stream = request.headers.accept === 'text/event-stream'
    const { body } = await upstream.request({
      method: 'POST',
      path: `${pathname}/chat/completions`,
      headers,
      body: JSON.stringify({
        model,
        messages: messages.map(({ role, content }) => ({ role, content: content.text })),
        ...(stream && { stream, stream_options: { include_usage: true } }),
      }),
    })
    const record = ({ prompt_tokens, completion_tokens }: Usage) => {
      const ms = Math.round(performance.now() - started)
      const values = [rows[0].user_id, tokenId, model, prompt_tokens, completion_tokens, ms, request.id]
      return database.query({ ...insertUsage, values })
    }
    if (stream) return passOn(body, reply, record, ownEvents)
    const { choices, usage } = (await body.json()) as Completion
    await record(usage)
    return { success: true, content: { text: choices[0]?.message.content } }
  })

  app.post<{ Body: { model: string; messages: object[]; stream?: boolean } }>(
    '/v1/chat/completions',
    async (request, reply) => {
      const started = performance.now()
      const tokenId = Number(request.headers.authorization?.split('_', 2)[1])
      const { rows } = await database.query({ ...findToken, values: [tokenId] })
      if (!rows[0]) return reply.code(401).send({ error: {} })
      const { model, stream } = request.body
      const options = { method: 'POST', path: `${pathname}/chat/completions`, headers } as const
      const { body } = await upstream.request({ ...options, body: JSON.stringify(request.body) })
      const record = ({ prompt_tokens, completion_tokens }: Usage) => {
        const ms = Math.round(performance.now() - started)
        const values = [rows[0].user_id, tokenId, model, prompt_tokens, completion_tokens, ms, request.id]
        return database.query({ ...insertUsage, values })
      }
      if (stream) return passOn(body, reply, record, asSent)
      const answer = (await body.json()) as Completion
      await record(answer.usage)
      return answer
    },
  )

  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { ready: { url }, stop: () => Promise.all([app.close(), upstream.close(), database.end()]) }
})

interface Usage {
  prompt_tokens: number
  completion_tokens: number
}

interface Completion {
  choices: { message: { content: string } }[]
  usage: Usage
}

interface Chunk {
  choices: { delta: { content?: string } }[]
  usage?: Usage | null
}

/** A streamed answer in the service's format. */
interface Sending {
  piece(bytes: Buffer, chunks: readonly Chunk[]): string | Buffer
  end(usage: Usage): string
}

/** The events that the service sends. */
const ownEvents: Sending = {
  piece: (_, chunks) => chunks.flatMap(deltaOf).join(''),
  end: ({ prompt_tokens: inputTokens, completion_tokens: outputTokens }) =>
    event('usage', { inputTokens, outputTokens, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }) +
    event('done', {}),
}

/** The provider's bytes, passed on unchanged. */
const asSent: Sending = { piece: (bytes) => bytes, end: () => '' }

/** Sends an answer on, and reads its usage on the way. */
async function passOn(
  body: AsyncIterable<Buffer>,
  reply: FastifyReply,
  record: (usage: Usage) => Promise<unknown>,
  { piece: sent, end }: Sending,
): Promise<FastifyReply> {
  reply.hijack()
  const raw = reply.raw.writeHead(200, { 'content-type': 'text/event-stream' })
  let rest = ''
  let usage: Usage = { prompt_tokens: 0, completion_tokens: 0 }
  for await (const piece of body) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    const chunks = lines.filter((line) => line.startsWith('data: {')).map((line): Chunk => JSON.parse(line.slice(6)))
    usage = chunks.find((chunk) => chunk.usage)?.usage ?? usage
    raw.write(sent(piece, chunks))
  }
  raw.end(end(usage))
  await record(usage)
  return reply
}

const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

function deltaOf({ choices }: Chunk): string[] {
  const text = choices[0]?.delta.content
  return text ? [event('delta', { text })] : []
}
