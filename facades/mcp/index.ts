import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { Problem } from '../../routers/core/problems.ts'
import { accessOf, assertMayCall } from '../../routers/core/trpc.ts'
import { createCaller } from '../../routers/index.ts'
import { logServerFailure, toFailure } from '../http/failure.ts'
import { refuseUnrouted } from '../http/method-not-allowed.ts'
import { contextOf, type FacadeOptions, findProcedure, getBodyLimit } from '../http/procedures.ts'
import { assertKnownAddress, type KnownAddresses } from './addresses.ts'
import type { GatewayRequest } from './gateway-server.ts'
import { ListChangeBus } from './list-changes.ts'
import { createErrorHandler, type FindMetadata, INVALID_PARAMS, readId } from './mcp-errors.ts'
import { isMessage, type Message, readCall } from './messages.ts'

interface McpOptions extends FacadeOptions, KnownAddresses {
  /** Name and version by which the gateway introduces itself. */
  name: string
  version: string
  /** Pause between the comment lines of a silent stream, in milliseconds. */
  heartbeat: number
  /** Finds the address of the metadata that tell programs where to sign in for a path. */
  findMetadata: FindMetadata
}

interface McpRequest {
  Params: { server?: string }
}

/** Registers the gateway to the tools of the service, as one MCP server and as one for each tool server. */
export async function mcp(app: FastifyInstance, options: McpOptions) {
  const { resolveContext, bodyLimits } = options
  const procedure = findProcedure('mcpGateway.callTool')
  if (!procedure) throw new Error('There is no procedure mcpGateway.callTool.')
  const access = accessOf(procedure)
  // Loaded lazily, because it loads all schemas of the protocol.
  const gateway = lazyPromise(() => loadGateway(options))
  const authenticate = async (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('cache-control', 'no-store')
    assertKnownAddress(request, options)
    assertMayCall(await resolveContext(request, reply), access)
  }
  app.removeContentTypeParser('text/plain')
  app.setErrorHandler(createErrorHandler(options.findMetadata))
  for (const url of ['/mcp', '/mcp/:server']) {
    app.post<McpRequest>(url, {
      bodyLimit: getBodyLimit(procedure, bodyLimits),
      onRequest: authenticate,
      handler: async (request, reply) => sendResponse(reply, await answer(await gateway(), request)),
    })
    // Programs look for the sign-in by any method, so the challenge comes before the method.
    app.route<McpRequest>({
      method: ['GET', 'HEAD', 'DELETE', 'PUT', 'PATCH'],
      url,
      config: { isRefusal: true } as object,
      onRequest: [authenticate, refuseUnrouted],
      handler: refuseUnrouted,
    })
  }
}

async function loadGateway(options: McpOptions) {
  const { createGateway, findParamIssue } = await import('./gateway-server.ts')
  return { options, handler: createGateway(options), createGateway, findParamIssue }
}
type Gateway = Awaited<ReturnType<typeof loadGateway>>

async function answer(gateway: Gateway, request: FastifyRequest<McpRequest>): Promise<Response> {
  const { body, params } = request
  if (!isMessage(body)) throw new Problem('bad_request', { detail: 'The body must be one JSON-RPC message.' })
  const id = readId(body)
  const issue = id === null ? undefined : gateway.findParamIssue(body)
  if (issue !== undefined) return toErrorResponse(id, issue)
  const ctx = contextOf(request)
  const { mcpGateway } = createCaller(ctx)
  // An address of one server is refused as a whole where it names none or several.
  const offers = isOpening(body) || params.server !== undefined ? await mcpGateway.offers(toAddress(params)) : undefined
  const server = offers?.server == null ? {} : { server: offers.server }
  const startCall = readCall(body)
  const gatewayRequest: GatewayRequest = {
    method: body.method,
    offers: isOpening(body) && offers ? offers : { prompts: true, resources: true },
    lists: {
      listTools: () => mcpGateway.listTools(server),
      listPrompts: () => mcpGateway.listPrompts(server),
      listResources: () => mcpGateway.listResources(server),
      listResourceTemplates: () => mcpGateway.listResourceTemplates(server),
    },
    // A refusal for now has a status of HTTP, which only a call can have that starts before its response.
    logFailure: (error) => logServerFailure(toFailure(error), request.log),
    parts: startCall && (await startCall(mcpGateway, server).catch(rethrowRefusal)),
  }
  const webRequest = toWebRequest(request, ctx.signal())
  const details = { parsedBody: body, authInfo: toAuthInfo(gatewayRequest) }
  if (body.method !== 'subscriptions/listen') return gateway.handler.fetch(webRequest, details)
  const bus = new ListChangeBus(await mcpGateway.listChanges(server), gatewayRequest.logFailure)
  const listening = gateway.createGateway(gateway.options, bus)
  // The library ends the stream as it should, and the program listens anew.
  void bus.ended.then(() => listening.close())
  return listening.fetch(webRequest, details)
}

const isOpening = ({ method }: Message) => method === 'initialize' || method === 'server/discover'

const toAddress = ({ server }: McpRequest['Params']) => (server === undefined ? {} : { address: server })

const toErrorResponse = (id: string | number | null, message: string) =>
  Response.json({ jsonrpc: '2.0', id, error: { code: INVALID_PARAMS, message } })

/** Rethrows what the whole request is refused for; returns the failure of a call that the client's model can correct. */
function rethrowRefusal(error: unknown): Error {
  const { status } = toFailure(error)
  if (status !== 404 && status !== 422) throw error
  return error as Error
}

/** Leaves out all that identifies the caller, as nothing behind this needs it. */
function toWebRequest({ headers, url }: FastifyRequest, signal: AbortSignal): Request {
  const passed = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    name === 'accept' || name === 'content-type' || name.startsWith('mcp-') ? [[name, String(value)]] : [],
  )
  return new Request(new URL(url, 'http://gateway'), { method: 'POST', headers: passed, signal })
}

/** The library passes only this member to the server that answers. */
const toAuthInfo = (request: GatewayRequest) => ({ token: '', clientId: '', scopes: [], extra: { request } })

/** Sends a stream as it comes, and everything else as text, so that it can be compressed. */
async function sendResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  const { status, headers, body } = response
  reply.code(status)
  const type = headers.get('content-type')
  if (type) reply.type(type)
  if (!type?.startsWith('text/event-stream')) return reply.send(await response.text())
  reply.headers({ 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
  return reply.send(body)
}
