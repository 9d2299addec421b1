import type { FastifyReply, FastifyRequest } from 'fastify'
import { readIssues, truncateIssues } from '../../routers/core/issues.ts'
import { type Issue, Problem } from '../../routers/core/problems.ts'
import { type Failure, isFinal, startErrorResponse } from '../http/failure.ts'

/** Anthropic's error types by status; other statuses have a default type. */
const errorTypes: Partial<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}

const defaultType = (status: number) => (status >= 500 ? 'api_error' : 'invalid_request_error')

/**
 * Chooses the status that Anthropic's clients expect: 400 instead of 422, and 404 for a model. A final failure is 400,
 * because some clients retry every 5xx.
 */
function chooseStatus(failure: Failure): number {
  const { status, error } = failure
  if (isFinal(failure)) return 400
  if (status !== 422) return status
  return error instanceof Problem && error.issues[0]?.path[0] === 'model' ? 404 : 400
}

/** Builds the error body of Anthropic's API, with our own code beside it. */
export function toErrorBody(failure: Failure, requestId: string) {
  const status = chooseStatus(failure)
  const error = {
    type: errorTypes[status] ?? defaultType(status),
    message: writeMessage(failure),
    code: failure.code,
    ...readDetails(failure),
  }
  return { type: 'error', error, request_id: requestId }
}

/** Returns the details that a program needs to continue. */
const readDetails = ({ error }: Failure): { details?: Problem['meta'] } =>
  error instanceof Problem && Object.keys(error.meta).length > 0 ? { details: error.meta } : {}

/** Writes the message; invalid parameters are listed with their issues. */
function writeMessage({ error, message }: Failure): string {
  const tooLong = readIssues(error).find(({ reason }) => reason === 'too_long')
  // Programs recognize these words and shorten the conversation.
  if (tooLong) return `prompt is too long: it ${tooLong.message}`
  const messages = truncateIssues(readIssues(error)).map((issue) =>
    [nameParameter(issue.path), issue.message].filter(Boolean).join(': '),
  )
  return messages.join('; ') || message
}

export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
  const failure = startErrorResponse(thrown, request, reply)
  return reply.code(chooseStatus(failure)).send(toErrorBody(failure, request.id))
}

/** Anthropic's names of our request members. */
const names: Record<string, string> = {
  toolChoice: 'tool_choice',
  'parameters.toolChoice': 'tool_choice',
  format: 'output_config.format',
  'parameters.topP': 'top_p',
  'parameters.topK': 'top_k',
  'parameters.cache': 'cache_control',
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

/** Anthropic's names of nested members. */
const members: Record<string, string | undefined> = { inputSchema: 'input_schema' }

/** Writes a path as Anthropic does, such as `messages.0.content`; empty for the whole body. */
export function nameParameter(path: Issue['path']): string {
  const known = [path.slice(0, 2).join('.'), String(path[0])].find((name) => Object.hasOwn(names, name))
  const written = path[0] === 'parameters' ? path.slice(1) : path.map((step) => members[step] ?? step)
  return (known && names[known]) ?? written.join('.')
}
