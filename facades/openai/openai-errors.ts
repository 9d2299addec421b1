import type { FastifyReply, FastifyRequest } from 'fastify'
import { readIssues, truncateIssues } from '../../routers/core/issues.ts'
import { type ErrorCode, type Issue, Problem } from '../../routers/core/problems.ts'
import { type Failure, isFinal, startErrorResponse } from '../http/failure.ts'

/** An error body of OpenAI's API. */
interface OpenAiError {
  message: string
  type: string
  /** The invalid parameter. */
  param: string | null
  code: string | null
}

/** Errors with a code of OpenAI's own. */
const knownErrors: Partial<Record<ErrorCode, [type: string, code: string]>> = {
  signed_out: ['invalid_request_error', 'invalid_api_key'],
  invalid_token: ['invalid_request_error', 'invalid_api_key'],
  // Clients do not retry this code.
  limit_reached: ['insufficient_quota', 'insufficient_quota'],
  limit_held: ['rate_limit_error', 'rate_limit_exceeded'],
  provider_rate_limited: ['rate_limit_error', 'rate_limit_exceeded'],
  too_many_requests: ['rate_limit_error', 'rate_limit_exceeded'],
}

export function toOpenAiError(failure: Failure, names: ParameterNames = 'chat'): OpenAiError {
  const { status, code, message } = failure
  if (code === 'invalid' || code === 'context_length_exceeded') return toInvalidError(failure, names)
  const defaultType = status >= 500 && !isFinal(failure) ? 'server_error' : 'invalid_request_error'
  const type = status === 403 ? 'permission_error' : defaultType
  const [knownType, knownCode] = knownErrors[code] ?? [type, code]
  return { message, type: knownType, param: null, code: knownCode }
}

/** Builds the error for invalid parameters: the first one by name, all of them in the message. */
function toInvalidError({ error, message }: Failure, names: ParameterNames): OpenAiError {
  const issues = truncateIssues(readIssues(error)).map((issue) => ({ param: nameParameter(issue.path, names), issue }))
  const [first] = issues
  const messages = issues.map(({ param, issue }) => (param ? `'${param}' ${issue.message}.` : `${issue.message}.`))
  const isTooLong = first?.issue.reason === 'too_long'
  return {
    // Programs recognize these words and shorten the conversation.
    message: `${isTooLong ? "This model's maximum context length is exceeded: " : ''}${messages.join(' ') || message}`,
    type: 'invalid_request_error',
    param: first?.param ?? null,
    code: first ? chooseCode(first.issue, error) : null,
  }
}

function chooseCode({ path, reason }: Issue, error: unknown): string {
  if (reason === 'too_long') return 'context_length_exceeded'
  return error instanceof Problem && path[0] === 'model' ? 'model_not_found' : 'invalid_value'
}

/**
 * Chooses the status that OpenAI's clients expect: 400 instead of 422, and 404 for a model. A final failure is 400,
 * because most clients retry every 5xx.
 */
const chooseStatus = (failure: Failure, { code }: OpenAiError) =>
  code === 'model_not_found' ? 404 : failure.status === 422 || isFinal(failure) ? 400 : failure.status

export function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
  const failure = startErrorResponse(thrown, request, reply)
  const error = toOpenAiError(failure, request.routeOptions.url === '/v1/responses' ? 'responses' : 'chat')
  return reply.code(chooseStatus(failure, error)).send({ error })
}

const chat: Record<string, string> = {
  toolChoice: 'tool_choice',
  'parameters.toolChoice': 'tool_choice',
  modelTools: 'tools',
  format: 'response_format',
  'parameters.topP': 'top_p',
  'parameters.maxTokens': 'max_tokens',
  'parameters.parallelTools': 'parallel_tool_calls',
  'parameters.effort': 'reasoning_effort',
  'parameters.presencePenalty': 'presence_penalty',
  'parameters.frequencyPenalty': 'frequency_penalty',
  'parameters.topK': 'top_k',
  'parameters.topLogprobs': 'top_logprobs',
  'parameters.cache': 'cache_control',
  'parameters.cacheKey': 'prompt_cache_key',
  'parameters.cacheRetention': 'prompt_cache_retention',
  'parameters.templateOptions': 'chat_template_kwargs',
  'parameters.web_search': 'web_search_options',
}

/** OpenAI's names of our request members, by endpoint. */
const names = {
  chat,
  responses: {
    ...chat,
    system: 'instructions',
    format: 'text.format',
    'parameters.maxTokens': 'max_output_tokens',
    'parameters.effort': 'reasoning.effort',
    'parameters.verbosity': 'text.verbosity',
    'parameters.web_search': 'tools.web_search',
    'parameters.thoughts': 'reasoning.summary',
  } as Record<string, string>,
}
type ParameterNames = keyof typeof names

/** Writes a path as OpenAI does, such as `messages[0].content`; undefined for the whole body. */
export function nameParameter(path: Issue['path'], endpoint: ParameterNames): string | undefined {
  if (path.length === 0) return undefined
  const table = names[endpoint]
  const known = [path.slice(0, 2).join('.'), String(path[0])].find((name) => Object.hasOwn(table, name))
  if (known) return table[known]
  const [first, ...rest] = path[0] === 'parameters' ? path.slice(1) : path
  const root = endpoint === 'responses' && first === 'messages' ? 'input' : first
  return [root, ...rest]
    .map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`))
    .join('')
}
