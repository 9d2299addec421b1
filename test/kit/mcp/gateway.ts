import { startProvider, writeConfig } from '../ai/provider.ts'
import { startApp, type TestApp } from '../app.ts'

export const MODERN = '2026-07-28'
export const revisions = [MODERN, '2025-11-25', '2025-06-18'] as const
type Revision = (typeof revisions)[number]

export interface RpcMessage {
  jsonrpc: '2.0'
  id?: number | string | null
  method?: string
  params?: Record<string, unknown>
  // biome-ignore lint/suspicious/noExplicitAny: a result has the members of its method, which the test names.
  result?: any
  error?: { code: number; message: string; data?: Record<string, unknown> }
}

interface RpcOptions {
  token: string | undefined
  revision?: Revision
  params?: Record<string, unknown>
  /** The capabilities that the client declares. */
  capabilities?: object
  meta?: Record<string, unknown>
  path?: string
  headers?: Record<string, string>
  signal?: AbortSignal
}

let lastId = 0

/** Builds a request of a revision, as a program sends it. */
export function buildRpc(method: string, { token, revision = MODERN, params = {}, meta, ...more }: RpcOptions) {
  const isModern = revision === MODERN
  const envelope = isModern && {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': more.capabilities ?? {},
  }
  const _meta = { ...envelope, ...meta }
  const name = params['name'] ?? params['uri']
  return {
    body: {
      jsonrpc: '2.0',
      id: ++lastId,
      method,
      params: { ...params, ...(Object.keys(_meta).length > 0 && { _meta }) },
    },
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(method !== 'initialize' && { 'mcp-protocol-version': revision }),
      ...(isModern && { 'mcp-method': method, ...(typeof name === 'string' && { 'mcp-name': name }) }),
      ...more.headers,
    },
  }
}

/** Sends a request to the gateway; returns the status, the headers, and all messages of the response. */
export async function sendRpc(svc: Pick<TestApp, 'url'>, method: string, options: RpcOptions) {
  const { body, headers } = buildRpc(method, options)
  const response = await fetch(svc.url + (options.path ?? '/mcp'), {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    ...(options.signal && { signal: options.signal }),
  })
  const text = await response.text()
  const messages = readMessages(text, response.headers.get('content-type'))
  const answer = messages.find(({ id }) => id === body.id) ?? messages.at(-1)
  return {
    status: response.status,
    headers: response.headers,
    text,
    messages,
    result: answer?.result,
    error: answer?.error,
  }
}

const readMessages = (text: string, type: string | null): RpcMessage[] =>
  type?.startsWith('text/event-stream')
    ? text.split('\n').flatMap((line) => (line.startsWith('data: ') ? JSON.parse(line.slice(6)) : []))
    : text === ''
      ? []
      : [JSON.parse(text)]

/** Calls a tool; returns its result or the error of the protocol. */
export const callTool = (
  svc: Pick<TestApp, 'url'>,
  name: string,
  { input = {}, ...options }: RpcOptions & { input?: object },
) => sendRpc(svc, 'tools/call', { ...options, params: { name, arguments: input, ...options.params } })

export const listTools = (svc: Pick<TestApp, 'url'>, options: RpcOptions) => sendRpc(svc, 'tools/list', options)

/** Starts a service with tool servers, whose tools are all approved. */
export async function startGateway(servers: readonly object[], settings: Record<string, string> = {}) {
  await using startup = new AsyncDisposableStack()
  const upstream = startup.use(await startProvider())
  const config = startup.use(await writeConfig(upstream.url, { more: { mcpServers: servers } }))
  const svc = startup.use(await startApp({ AI_CONFIG: config.file, ...settings }))
  await syncAndApprove(svc)
  const resources = startup.move()
  return Object.assign(svc, { upstream, [Symbol.asyncDispose]: () => resources.disposeAsync() })
}

/** Reads the tools of all servers, and approves what waits. */
export async function syncAndApprove(svc: Pick<TestApp, 'host'>): Promise<void> {
  await svc.host.mcp.sync()
  for (const { name, hash, isApproved, active } of await svc.host.mcp.tools())
    if (!(isApproved && active)) await svc.host.mcp.approve({ name, hash })
}

/** Adds a person whose token may call tools. */
export const addCaller = (svc: Pick<TestApp, 'user'>, more: Parameters<TestApp['user']>[0] = {}) =>
  svc.user({ abilities: ['mcp'], ...more })
