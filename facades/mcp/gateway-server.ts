import {
  type CallToolResult,
  createMcpHandler,
  type Implementation,
  inputRequired,
  type JSONRPCRequest,
  type ProtocolEra,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type Result,
  Server,
  type ServerContext,
  type ServerEventBus,
} from '@modelcontextprotocol/server'
import { getErrorKind, Problem } from '../../routers/core/problems.ts'
import type { Api } from '../../routers/index.ts'
import { buildChoices, type CallParts, QUESTION } from './messages.ts'
import { type GatewayMethod, isGatewayMethod } from './params.ts'

export { findParamIssue } from './params.ts'

type CallPart = CallParts extends AsyncGenerator<infer Part> ? Part : never
type Lists = Pick<Api['mcpGateway'], 'listTools' | 'listPrompts' | 'listResources' | 'listResourceTemplates'>

/** The server behind one request answers with these. */
export interface GatewayRequest {
  method: unknown
  /** The kinds that the person has beside tools, which the server says where a program opens the conversation. */
  offers: { prompts: boolean; resources: boolean }
  lists: { [Name in keyof Lists]: () => ReturnType<Lists[Name]> }
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

/**
 * Creates the handler of all requests, or of the one that listens to a bus. Each has a server of its own, which could
 * otherwise answer another client.
 */
export const createGateway = ({ name, version, heartbeat }: GatewayOptions, bus?: ServerEventBus) =>
  createMcpHandler(
    ({ era, authInfo }) => createServer({ name, version }, era, authInfo?.extra?.['request'] as GatewayRequest),
    { keepAliveMs: heartbeat, ...(bus && { bus }) },
  )

/** One validator for all servers, none of which uses it; each would build its own. */
const jsonSchemaValidator = {
  getValidator: () => {
    throw new Error('The gateway checks no schema by the library.')
  },
}

function createServer(info: Implementation, era: ProtocolEra, request: GatewayRequest): Server {
  const { method, offers } = request
  // Only this era has a way to tell a client without a session.
  const list = era === 'modern' ? { listChanged: true } : {}
  const server = new Server(info, {
    capabilities: {
      tools: list,
      ...(offers.prompts && { prompts: list }),
      ...(offers.resources && { resources: list }),
    },
    // A revision with sessions would have to be asked within the call, which no replica could answer.
    inputRequired: { legacyShim: false },
    jsonSchemaValidator,
  })
  // Registered handlers would check the parameters again, with the whole schema of the library as the message.
  if (isGatewayMethod(method)) {
    const answer = answers[method]
    server.fallbackRequestHandler = (message, context) =>
      withProtocolErrors(() => answer(request, { message, context, era, server }), request.logFailure)
  }
  return server
}

interface Exchange {
  message: JSONRPCRequest
  context: ServerContext
  era: ProtocolEra
  server: Server
}
type Answer = (request: GatewayRequest, exchange: Exchange) => Promise<Result>

/** The answers to the methods of the gateway, whose parameters were checked. */
const answers: Record<GatewayMethod, Answer> = {
  'tools/list': answerList('tools', ({ listTools }) => listTools()),
  'prompts/list': answerList('prompts', ({ listPrompts }) => listPrompts()),
  'resources/list': answerList('resources', ({ listResources }) => listResources()),
  'resources/templates/list': answerList('resourceTemplates', ({ listResourceTemplates }) => listResourceTemplates()),

  async 'tools/call'({ parts }, { context: { mcpReq }, server }) {
    if (parts instanceof Problem && parts.problem === 'invalid') return toErrorResult(parts)
    const end = await readEnd(parts, async ({ type: _, ...progress }) => {
      const { progressToken } = mcpReq._meta ?? {}
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } })
    })
    return end.type === 'question' ? toQuestion(end) : server.projectCallToolResult(end.result, undefined)
  },

  'prompts/get': async ({ parts }) => toServed(await readEnd(parts)),

  async 'resources/read'({ parts }, { message, era }) {
    if (parts instanceof Problem && parts.problem === 'not_found')
      throw new ResourceNotFoundError(String(message.params?.['uri']), parts.message)
    return addHint(era, readHint, toServed(await readEnd(parts)))
  },
}

/** Answers with a list, which has one page. */
function answerList(member: string, read: (lists: GatewayRequest['lists']) => Promise<readonly object[]>): Answer {
  return async ({ lists }, { message: { params }, era }) => {
    if (params?.['cursor'] !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown cursor')
    return addHint(era, listHint, { [member]: await read(lists) })
  }
}

/** Clients may keep a list for so many milliseconds, for one person each. */
const listHint = { ttlMs: 60_000, cacheScope: 'private' } as const
/** A resource may change at any time. */
const readHint = { ttlMs: 0, cacheScope: 'private' } as const

/** Earlier revisions know no such hints. */
const addHint = (era: ProtocolEra, hint: typeof listHint | typeof readHint, result: Result): Result =>
  era === 'modern' ? { ...result, ...hint } : result

/** Returns a prompt or the contents of a resource. These have no result for a failure, so it is an error of the protocol. */
function toServed(end: CallEnd): Result {
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
