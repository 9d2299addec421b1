import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorCode } from '../../routers/core/problems.ts'
import { type Failure, startErrorResponse } from '../http/failure.ts'

/** JSON-RPC codes: of JSON-RPC itself, and one of the range for servers. */
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
export const INVALID_PARAMS = -32602
const REFUSED = -32000

/** Finds the address of the metadata that tell programs where to sign in for a path; undefined if they cannot. */
export type FindMetadata = (path: string) => string | undefined

/** Creates the error handler of the gateway: each refusal is a JSON-RPC error, and a 401 tells how to get a token. */
export const createErrorHandler =
  (findMetadata: FindMetadata) => (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const failure = startErrorResponse(thrown, request, reply)
    const challenge = writeChallenge(failure, findMetadata(request.url.split('?', 1)[0] ?? ''))
    if (challenge) reply.header('www-authenticate', challenge)
    const status = failure.status === 422 ? 400 : failure.status
    return reply.code(status).send(toErrorBody(failure, request))
  }

const challengeErrors: Partial<Record<ErrorCode, string>> = {
  invalid_token: 'invalid_token',
  missing_ability: 'insufficient_scope',
}

function writeChallenge({ status, code }: Failure, metadata: string | undefined): string | undefined {
  if (status !== 401 && code !== 'missing_ability') return undefined
  const error = challengeErrors[code]
  const parameters = {
    ...(error && { error }),
    scope: 'mcp',
    ...(metadata && { resource_metadata: metadata }),
  }
  return `Bearer ${Object.entries(parameters)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')}`
}

const toErrorBody = ({ code, message }: Failure, { id: requestId, body }: FastifyRequest) => ({
  jsonrpc: '2.0',
  id: readId(body),
  error: { code: findRpcCode(code, body), message, data: { code, requestId } },
})

/** Returns the id of a request that was read; null otherwise, as JSON-RPC wants it. */
export function readId(body: unknown): string | number | null {
  const { id } = (body ?? {}) as { id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

function findRpcCode(code: ErrorCode, body: unknown): number {
  if (code !== 'invalid' && code !== 'bad_request') return REFUSED
  return body === undefined || body === null ? PARSE_ERROR : INVALID_REQUEST
}
