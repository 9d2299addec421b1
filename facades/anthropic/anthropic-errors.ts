import type { FastifyReply, FastifyRequest } from 'fastify'
import { readIssues, truncateIssues } from '../../routers/core/issues.ts'
import { Problem } from '../../routers/core/problems.ts'
import { type Failure, isFinal, toFailure } from '../http/failure.ts'

/** What Anthropic's clients call an error of a status; others are of the request, or of the service. */
const errorTypes: Partial<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}

const defaultType = (status: number) => (status >= 500 ? 'api_error' : 'invalid_request_error')

/** Clients expect 400 for what other faces answer with 422, and 404 for a model. Some repeat a request by any status of 500 and above. */
function chooseStatus(failure: Failure): number {
  const { status, error } = failure
  if (isFinal(failure)) return 400
  if (status !== 422) return status
  return error instanceof Problem && error.issues[0]?.path[0] === 'model' ? 404 : 400
}

/** As Anthropic writes it, with our own code beside. */
export function toErrorBody(failure: Failure, requestId: string) {
  const status = chooseStatus(failure)
  const error = {
    ...{ type: errorTypes[status] ?? defaultType(status), message: writeMessage(failure), code: failure.code },
    ...readDetails(failure),
  }
  return { type: 'error', error, request_id: requestId }
}

/** What a program needs to go on. */
const readDetails = ({ error }: Failure): { details?: Problem['meta'] } =>
  error instanceof Problem && Object.keys(error.meta).length > 0 ? { details: error.meta } : {}

/** Where something is wrong with the input, the parameters and what is wrong with each. */
function writeMessage({ error, message }: Failure): string {
  const tooLong = readIssues(error).find(({ reason }) => reason === 'too_long')
  // Programs make a conversation shorter by these words.
  if (tooLong) return `prompt is too long: it ${tooLong.message}`
  const messages = truncateIssues(readIssues(error)).map((issue) =>
    [nameParameter(issue.path), issue.message].filter(Boolean).join(': '),
  )
  return messages.join('; ') || message
}

export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
  const failure = toFailure(thrown)
  if (failure.status >= 500) request.log.error({ error: failure.error.cause ?? failure.error }, failure.code)
  return reply.code(chooseStatus(failure)).send(toErrorBody(failure, request.id))
}

/** What Anthropic calls the members of our requests. */
const names: Record<string, string> = {
  toolChoice: 'tool_choice',
  format: 'output_config.format',
  'parameters.topP': 'top_p',
  'parameters.topK': 'top_k',
  'parameters.web_search': 'tools.web_search',
  'parameters.web_fetch': 'tools.web_fetch',
  'parameters.maxTokens': 'max_tokens',
  'parameters.maxThinkingTokens': 'thinking.budget_tokens',
  'parameters.stop': 'stop_sequences',
  'parameters.parallelTools': 'tool_choice.disable_parallel_tool_use',
  'parameters.effort': 'output_config.effort',
  'parameters.thinking': 'thinking',
  'parameters.thoughts': 'thinking.display',
}

/** Of members within others. */
const members: Record<string, string | undefined> = { inputSchema: 'input_schema' }

/** A parameter in Anthropic's way of writing, such as `messages.0.content`; empty for the body as a whole. */
export function nameParameter(path: readonly (string | number)[]): string {
  const known = [path.slice(0, 2).join('.'), String(path[0])].find((name) => Object.hasOwn(names, name))
  const written = path[0] === 'parameters' ? path.slice(1) : path.map((step) => members[step] ?? step)
  return (known && names[known]) ?? written.join('.')
}
