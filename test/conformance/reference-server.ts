import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { type Json, type JsonObject, object } from './json.ts'
import type { Breakage, Broken } from './reference/breakages.ts'
import { Store } from './reference/model.ts'
import { type Applied, contentType, negotiate } from './reference/negotiation.ts'
import { description } from './reference/openapi.ts'
import { Refusal } from './reference/refusal.ts'
import { type ApiRequest, type Reply, Requests } from './reference/requests.ts'

/** Manipulates the traffic between a client and the server. */
export type Spoil = (request: ApiRequest, answer: (request: ApiRequest) => Reply) => Reply

interface Options {
  /** The one obligation that it does not meet. */
  break?: Breakage
  spoil?: Spoil
}

/** A small JSON:API server in memory that meets all obligations, but for what it is told to break. */
export async function startReferenceServer({
  break: breakage,
  spoil = (request, answer) => answer(request),
}: Options = {}) {
  const broken: Broken = (name) => name === breakage
  const store = new Store()
  const server = createServer(async (request, response) => {
    const apiRequest = await read(request)
    send(
      response,
      spoil(apiRequest, (it) => answer(it, store, broken)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`,
    store,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

async function read(request: IncomingMessage): Promise<ApiRequest> {
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`)
  const segments = url.pathname.split('/').slice(2).map(decodeURIComponent)
  const written = await readText(request)
  return {
    method: request.method ?? 'GET',
    segments,
    url,
    headers: request.headers,
    body: written === '' ? undefined : (JSON.parse(written) as Json),
  }
}

function send(response: ServerResponse, { status, headers, document }: Reply): void {
  response.writeHead(status, headers)
  response.end(document && JSON.stringify(document))
}

function answer(request: ApiRequest, store: Store, broken: Broken): Reply {
  const { url, headers, body } = request
  if (request.segments[0] === 'openapi.json') return { status: 200, document: description(url.origin) }
  let applied: Applied = { ext: [], profile: [] }
  try {
    applied = negotiate(headers, body !== undefined, broken)
    return dress(new Requests(store, `${url.origin}/api`, broken).answer(request), applied, broken)
  } catch (cause) {
    return dress(refusal(cause, broken), applied, broken)
  }
}

/** Adds what stands in every answer beside its content. */
function dress({ status, headers, document }: Reply, applied: Applied, broken: Broken): Reply {
  const shared = { vary: 'Accept', ...headers }
  if (!document) return { status, headers: shared }
  const type = { 'content-type': contentType(applied, broken) }
  return { status, headers: { ...shared, ...type }, document: whole(object(document), applied) }
}

const whole = ({ links, ...document }: JsonObject, { ext, profile }: Applied): JsonObject => ({
  jsonapi: { version: '1.1', ext, profile, meta: { isReference: true } },
  links: {
    ...object(links),
    describedby: { href: '/api/openapi.json', rel: 'describedby', title: 'What there is', hreflang: ['en', 'de-CH'] },
  },
  ...document,
  ...Object.fromEntries(ext.map((uri) => [`${uri.split('/').at(-1)}:from`, 'reference'])),
})

function refusal(cause: unknown, broken: Broken): Reply {
  const { status, code, sources } = cause instanceof Refusal ? cause : new Refusal(500, 'internal')
  const links = { about: 'https://example.org/problems' }
  const error = { status: String(status), code, title: code.replaceAll('_', ' '), links }
  const errors: JsonObject[] = sources.length > 0 ? sources.map((source) => ({ ...error, source })) : [error]
  return { status, document: { errors: broken('errors-object') ? (errors[0] ?? {}) : errors } }
}
