import {
  type CallToolResult,
  createMcpHandler,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type Tool,
} from '@modelcontextprotocol/server'
import { getErrorKind, Problem } from '../../routers/core/problems.ts'
import type { Api } from '../../routers/index.ts'
import { buildChoices, QUESTION } from './messages.ts'

type CallParts = Awaited<ReturnType<Api['mcpGateway']['callTool']>>
type CallPart = CallParts extends AsyncGenerator<infer Part> ? Part : never

/** The server behind one request answers with these. */
export interface GatewayRequest {
  listTools(): ReturnType<Api['mcpGateway']['listTools']>
  /** Parts of the called tool's answer, or the failure of the call; undefined if the request calls none. */
  parts: CallParts | Error | undefined
  /** Logs a failure of the service. */
  logFailure(error: unknown): void
}

interface GatewayOptions {
  name: string
  version: string
  heartbeat: number
}

/** Milliseconds for which clients may keep the list of tools. */
const LIST_TTL_MS = 60_000

/** Creates the handler of all requests. Each has a server of its own, which could otherwise answer another client. */
export const createGateway = ({ name, version, heartbeat }: GatewayOptions) =>
  createMcpHandler(({ authInfo }) => createServer({ name, version }, authInfo?.extra?.['request'] as GatewayRequest), {
    keepAliveMs: heartbeat,
  })

function createServer(
  info: { name: string; version: string },
  { listTools, parts, logFailure }: GatewayRequest,
): Server {
  const server = new Server(info, {
    capabilities: { tools: {} },
    // A revision with sessions would have to be asked within the call, which no replica could answer.
    inputRequired: { legacyShim: false },
    cacheHints: { 'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' } },
  })
  server.setRequestHandler('tools/list', async ({ params }) => {
    if (params?.cursor !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown cursor')
    return { tools: (await withProtocolErrors(listTools, logFailure)) as Tool[] }
  })
  server.setRequestHandler('tools/call', (_request, { mcpReq }) =>
    withProtocolErrors(async () => {
      const end = await readEnd(parts, async ({ type: _, ...progress }) => {
        const { progressToken } = mcpReq._meta ?? {}
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } })
      })
      return end.type === 'question' ? toQuestion(end) : server.projectCallToolResult(end.result, undefined)
    }, logFailure),
  )
  return server
}

type Progress = Extract<CallPart, { type: 'progress' }>
type CallEnd = { type: 'result'; result: CallToolResult } | Extract<CallPart, { type: 'question' }>

/** Reads the end of a call, and passes on what comes before it. Invalid arguments have a result, too. */
async function readEnd(
  parts: GatewayRequest['parts'],
  notify: (progress: Progress) => Promise<void>,
): Promise<CallEnd> {
  if (parts instanceof Problem && parts.problem === 'invalid') return { type: 'result', result: toErrorResult(parts) }
  if (parts instanceof Error) throw parts
  for await (const part of parts ?? []) {
    if (part.type !== 'progress') return part as CallEnd
    await notify(part)
  }
  throw new Error('A call ended without a result.')
}

/** Asks the person in their program, which repeats the call with the answer. */
const toQuestion = ({ message, state, lifetime }: Extract<CallPart, { type: 'question' }>) =>
  inputRequired({
    inputRequests: {
      [QUESTION]: inputRequired.elicit({
        message,
        requestedSchema: {
          type: 'object',
          properties: {
            choice: { type: 'string', title: 'Answer', oneOf: buildChoices(lifetime) },
          },
          required: ['choice'],
        },
      }),
    },
    requestState: state,
  })

/** Explains invalid arguments to the client's model, which can correct them. */
const toErrorResult = ({ issues, message }: Problem): CallToolResult => ({
  content: [
    { type: 'text', text: issues.map(({ path, message }) => `${path.join('.')} ${message}.`).join('\n') || message },
  ],
  isError: true,
})

/** Replaces an error by one without details; the library would send its message. */
async function withProtocolErrors<T>(work: () => Promise<T>, logFailure: GatewayRequest['logFailure']): Promise<T> {
  try {
    return await work()
  } catch (error) {
    logFailure(error)
    if (!(error instanceof Problem))
      throw new ProtocolError(ProtocolErrorCode.InternalError, getErrorKind('internal').title)
    const isCallers = error.problem === 'not_found' || error.problem === 'invalid'
    throw new ProtocolError(
      isCallers ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
      error.message,
    )
  }
}
