import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readEnv } from '../../server/config/env.ts'
import { createConverter } from '../../server/files/file-converter.ts'
import { createOidc } from '../../server/login/oidc.ts'
import { createHttpClient } from '../../server/net/http-client.ts'
import { leaveBody } from '../../server/net/response-body.ts'
import { Collector } from '../../server/ops/collector.ts'
import { createS3Blobs } from '../../server/stores/blobs/s3-blobs.ts'
import { writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { createSilentLog } from '../kit/log.ts'

const statuses = [200, 205, 401, 404, 429, 503]

/** Bodies that a server may send, whatever the status. */
const bodies: Record<string, (response: ServerResponse) => void> = {
  none: (response) => response.end(),
  whole: (response) => response.end(JSON.stringify({ error: { message: 'no' } })),
  cut: (response) => void response.write('{"error": {"mess', () => setTimeout(() => response.destroy(), 20)),
  trickling: (response) => {
    let count = 0
    const timer = setInterval(() => (count++ < 20 ? response.write(' ') : response.end()), 10)
    response.once('close', () => clearInterval(timer))
  },
  endless: (response) => {
    const piece = Buffer.alloc(64 * 1024, ' ')
    const write = () => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', write)
    write()
  },
}

const answers = statuses.flatMap((status) => Object.keys(bodies).map((body) => ({ status, body })))
type Answer = (typeof answers)[number]
const nameOf = ({ status, body }: Answer) => `${status}-${body}`

/** Starts a server that answers each request as its path says. */
async function startHostileServer() {
  const open = new Set<ServerResponse>()
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    open.add(response)
    response.once('close', () => open.delete(response)).on('error', () => {})
    request.resume().on('error', () => {})
    const [, status = '200', body = 'none'] = /\/(\d+)-(\w+)/.exec(request.url ?? '') ?? []
    response.writeHead(Number(status), { 'content-type': 'application/json' })
    response.flushHeaders()
    bodies[body]?.(response)
  })
  // Tool servers must lead to this machine, and link previews to another name than the service's own.
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    open,
    port,
    countRequests: () => requests,
    addressOf: (answer: Answer) => `http://127.0.0.1:${port}/${nameOf(answer)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

const resources = new AsyncDisposableStack()
const uncaught: unknown[] = []
const record = (error: unknown) => void uncaught.push(error)
let server: Awaited<ReturnType<typeof startHostileServer>>
let svc: TestApp
let token: string

beforeAll(async () => {
  process.on('uncaughtException', record).on('unhandledRejection', record)
  server = resources.use(await startHostileServer())
  const config = resources.use(await writeConfig(''))
  const ofEach = <T>(build: (answer: Answer, url: string) => T) =>
    answers.map((answer) => build(answer, server.addressOf(answer)))
  await config.write({
    providers: ofEach((answer, url) => ({
      id: nameOf(answer),
      adapter: 'openai-compatible',
      apiUrl: `${url}/v1`,
      circuit: { failures: 1_000_000 },
      models: [
        { id: nameOf(answer), label: nameOf(answer), external: true },
        { id: `embed-${nameOf(answer)}`, label: 'Embeds', external: true, modelType: 'embedding' },
      ],
    })),
    mcpServers: ofEach((answer, url) => ({ label: nameOf(answer), url: `${url}/mcp`, timeouts: { read: '5s' } })),
  })
  svc = resources.use(
    await startApp({
      AI_CONFIG: config.file,
      LINK_PREVIEW_NETWORKS: '127.0.0.2',
      LINK_PREVIEW_PORTS: String(server.port),
    }),
  )
  token = (await svc.user()).token
})
afterAll(async () => {
  await resources.disposeAsync()
  process.off('uncaughtException', record).off('unhandledRejection', record)
})

const sendQuestion = (path: string, body: object, headers: Record<string, string> = {}) =>
  svc.send('POST', path, { token, body, headers }).then((response) => response.text())

const messages = [{ role: 'user', content: 'Hello' }]

/** Every way by which the service asks another server, with what it asks for one answer, or for all at once. */
const doors: Record<string, (answer: Answer, url: string) => Promise<unknown>> = {
  'a whole chat': (answer) => sendQuestion('/v1/chat/completions', { model: nameOf(answer), messages }),
  'a streamed chat': (answer) =>
    sendQuestion('/v1/chat/completions', { model: nameOf(answer), messages, stream: true }),
  embeddings: (answer) => sendQuestion('/v1/embeddings', { model: `embed-${nameOf(answer)}`, input: 'a' }),
  'a link preview': (_, url) =>
    svc.send(
      'GET',
      `/api/svc/v1/proxy/link-preview/metadata?url=${encodeURIComponent(url.replace('127.0.0.1', '127.0.0.2'))}`,
      { token },
    ),
  'a file converter': async (_, url) => {
    const converter = createConverter(
      readEnv({ SVC_FILE_CONVERTER_API_URL: `${url}/extract`, SVC_FILE_CONVERTER_API_KEY: 'key' }),
    )
    const file = { mime: 'application/pdf', bytes: 1, open: () => Readable.from([Buffer.from('a')]) }
    await converter?.convert(file).then(buffer, () => {})
    await converter?.close()
  },
  'an OpenID provider': (_, url) =>
    createOidc(
      {
        issuer: url,
        clientId: 'svc',
        scopes: [],
        claims: { username: 'sub', email: 'email' },
        baseUrl: svc.url,
        allowHttp: true,
      },
      createSilentLog(),
    ).begin(),
  'a collector of traces': async (_, url) => {
    const collector = new Collector({ endpoint: url, headers: {} })
    const { export: send } = collector.createSender('traces', JsonTraceSerializer)
    await new Promise((done) => send([], done))
    await collector.close()
  },
  'a bucket': async (_, url) => {
    const access = { endpoint: url, region: 'eu', accessKeyId: 'a', secretAccessKey: 'b' }
    const blobs = createS3Blobs({ bucket: 'files', spoolFolder: svc.folder, ...access })
    await blobs.remove('key').catch(() => {})
    await blobs.close()
  },
  'a body that is left at once': async (_, url) => {
    const client = createHttpClient({ networkPolicy: 'configured' })
    leaveBody((await client.fetch(url)).body)
    await (await client.fetch(url)).body?.cancel()
    await expect.poll(() => client.busy).toBe(0)
    await client.close()
  },
}

const allAtOnce: Record<string, () => Promise<unknown>> = {
  'lists of models': () => svc.host.models.watch(),
  'tool servers': () => svc.host.mcp.sync(),
  ...Object.fromEntries(
    Object.entries(doors).map(([name, sendQuestion]) => [
      name,
      () => Promise.allSettled(answers.map((answer) => sendQuestion(answer, server.addressOf(answer)))),
    ]),
  ),
}

test.for(Object.entries(allAtOnce))('%s may be answered with anything: the process lives', async ([, sendAll]) => {
  const before = server.countRequests()

  await sendAll()

  // Whatever is not read to its end is left, even a body that has none.
  await expect.poll(() => server.open.size).toBe(0)
  expect(server.countRequests() - before).toBeGreaterThanOrEqual(answers.length)
  expect(uncaught).toEqual([])
})
