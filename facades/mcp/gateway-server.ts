import {
  type CallToolResult,
  createMcpHandler,
  type GetPromptResult,
  type Implementation,
  inputRequired,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
  Server,
  type Tool,
} from '@modelcontextprotocol/server'
import { getErrorKind, Problem } from '../../routers/core/problems.ts'
import type { Api } from '../../routers/index.ts'
import { buildChoices, type CallParts, QUESTION } from './messages.ts'

type CallPart = CallParts extends AsyncGenerator<infer Part> ? Part : never

/** The server behind one request answers with these. */
export interface GatewayRequest {
  /** The kinds that the person has beside tools, which the server says where a program opens the conversation. */
  offers: { prompts: boolean; resources: boolean }
  listTools(): ReturnType<Api['mcpGateway']['listTools']>
  listPrompts(): ReturnType<Api['mcpGateway']['listPrompts']>
  listResources(): ReturnType<Api['mcpGateway']['listResources']>
  /** Parts of the tool server's answer, or the failure of the call; undefined if the request calls none. */
  parts: CallParts | Error | undefined
  /** Logs a failure of the service. */
  logFailure(error: unknown): void
}

interface GatewayOptions {
  name: string
  version: string
  heartbeat: number
}

/** Clients may keep a list for so many milliseconds, for one person each. */
const listHint = { ttlMs: 60_000, cacheScope: 'private' } as const
/** A resource may change at any time. */
const readHint = { ttlMs: 0, cacheScope: 'private' } as const

/** Creates the handler of all requests. Each has a server of its own, which could otherwise answer another client. */
export const createGateway = ({ name, version, heartbeat }: GatewayOptions) =>
  createMcpHandler(({ authInfo }) => createServer({ name, version }, authInfo?.extra?.['request'] as GatewayRequest), {
    keepAliveMs: heartbeat,
  })

function createServer(info: Implementation, request: GatewayRequest): Server {
  const { offers, parts, logFailure } = request
  const server = new Server(info, {
    capabilities: { tools: {}, ...(offers.prompts && { prompts: {} }), ...(offers.resources && { resources: {} }) },
    // A revision with sessions would have to be asked within the call, which no replica could answer.
    inputRequired: { legacyShim: false },
    cacheHints: {
      'tools/list': listHint,
      'prompts/list': listHint,
      'resources/list': listHint,
      'resources/templates/list': listHint,
      'resources/read': readHint,
    },
  })
  server.setRequestHandler('tools/list', async ({ params }) => ({
    tools: (await readList(request.listTools, params, logFailure)) as Tool[],
  }))
  server.setRequestHandler('tools/call', (_request, { mcpReq }) =>
    withProtocolErrors(async () => {
      if (parts instanceof Problem && parts.problem === 'invalid') return toErrorResult(parts)
      const end = await readEnd(parts, async ({ type: _, ...progress }) => {
        const { progressToken } = mcpReq._meta ?? {}
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } })
      })
      return end.type === 'question' ? toQuestion(end) : server.projectCallToolResult(end.result, undefined)
    }, logFailure),
  )
  if (offers.prompts) addPrompts(server, request)
  if (offers.resources) addResources(server, request)
  return server
}

/** Reads a list, which has one page. */
async function readList<T>(
  read: () => Promise<T>,
  params: { cursor?: string | undefined } | undefined,
  logFailure: GatewayRequest['logFailure'],
): Promise<T> {
  if (params?.cursor !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown cursor')
  return withProtocolErrors(read, logFailure)
}

function addPrompts(server: Server, { listPrompts, parts, logFailure }: GatewayRequest): void {
  server.setRequestHandler('prompts/list', async ({ params }) => ({
    prompts: (await readList(listPrompts, params, logFailure)) as Prompt[],
  }))
  server.setRequestHandler('prompts/get', () =>
    withProtocolErrors(async () => toServed<GetPromptResult>(await readEnd(parts)), logFailure),
  )
}

function addResources(server: Server, { listResources, parts, logFailure }: GatewayRequest): void {
  server.setRequestHandler('resources/list', async ({ params }) => ({
    resources: (await readList(listResources, params, logFailure)).resources as Resource[],
  }))
  server.setRequestHandler('resources/templates/list', async ({ params }) => ({
    resourceTemplates: (await readList(listResources, params, logFailure)).templates as ResourceTemplateType[],
  }))
  server.setRequestHandler('resources/read', ({ params }) =>
    withProtocolErrors(async () => {
      if (parts instanceof Problem && parts.problem === 'not_found')
        throw new ResourceNotFoundError(params.uri, parts.message)
      return toServed<ReadResourceResult>(await readEnd(parts))
    }, logFailure),
  )
}

/** Returns a prompt or the contents of a resource. These have no result for a failure, so it is an error of the protocol. */
function toServed<Result>(end: CallEnd) {
  if (end.type === 'question') return toQuestion(end)
  const { content, structuredContent, isError } = end.result
  if (!isError) return structuredContent as Result
  const [reason] = content
  throw new ProtocolError(
    ProtocolErrorCode.InternalError,
    reason?.type === 'text' ? reason.text : getErrorKind('internal').title,
  )
}

type Progress = Extract<CallPart, { type: 'progress' }>
type CallEnd = { type: 'result'; result: CallToolResult } | Extract<CallPart, { type: 'question' }>

/** Reads the end of a call, and passes on what comes before it. */
async function readEnd(
  parts: GatewayRequest['parts'],
  notify?: (progress: Progress) => Promise<void>,
): Promise<CallEnd> {
  if (parts instanceof Error) throw parts
  for await (const part of parts ?? []) {
    if (part.type !== 'progress') return part as CallEnd
    await notify?.(part)
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
    if (error instanceof ProtocolError) throw error
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
