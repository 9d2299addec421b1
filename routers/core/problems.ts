import { type TRPC_ERROR_CODE_KEY, TRPCError } from '@trpc/server'

/** The closed list of what can go wrong on purpose. Facades map the name, never the sentence. */
const problems = {
  signed_out: ['UNAUTHORIZED', 'Sign in, or send a valid access token.'],
  invalid_token: ['UNAUTHORIZED', 'The access token is not valid.'],
  wrong_user_type: ['FORBIDDEN', 'This is not open to your kind of user.'],
  csrf: ['FORBIDDEN', 'The request does not come from a page of this service.'],
  login_failed: ['UNAUTHORIZED', 'Wrong username or password.'],
  wrong_password: ['UNPROCESSABLE_CONTENT', 'The current password is wrong.'],
  fresh_login_needed: ['FORBIDDEN', 'Sign in again to do this.'],
  registered_already: ['CONFLICT', 'There are keys of this account already. Sign in again to unlock them.'],
  host_only: ['FORBIDDEN', 'This runs on the host only.'],
  session_only: ['FORBIDDEN', 'An access token cannot do this; sign in to the browser front end.'],
  admin_only: ['FORBIDDEN', 'Only an administrator may do this.'],
  missing_ability: ['FORBIDDEN', 'The access token lacks the ability for this.'],
  external_communication_off: ['FORBIDDEN', 'External API access is disabled.'],
  token_creation_off: [
    'FORBIDDEN',
    'Token creation by users is disabled. Please contact your administrator for API access.',
  ],
  unknown_language: ['BAD_REQUEST', 'Invalid language'],
  not_found: ['NOT_FOUND', 'There is no such record.'],
  invalid: ['UNPROCESSABLE_CONTENT', 'The input is not valid.'],
  invalid_query: ['BAD_REQUEST', 'A query parameter is not valid.'],
  precondition_failed: ['PRECONDITION_FAILED', 'The record has changed in the meantime.'],
  read_only: ['FORBIDDEN', 'This cannot be changed here.'],
  conflict: ['CONFLICT', 'This would contradict another record.'],
  invalid_document: ['UNPROCESSABLE_CONTENT', 'The document is not valid.'],
  wrong_type: ['CONFLICT', 'The type or id is not the one that belongs here.'],
  client_id: ['FORBIDDEN', 'Ids are given by the server.'],
  idempotency_key: ['BAD_REQUEST', 'An idempotency key has 1 to 255 visible characters.'],
  idempotency_conflict: ['CONFLICT', 'The idempotency key is taken.'],
  method_not_allowed: ['METHOD_NOT_SUPPORTED', 'This address does not take this method.'],
  not_acceptable: ['BAD_REQUEST', 'Only application/vnd.api+json is sent, without other parameters than profile.'],
  too_large: ['PAYLOAD_TOO_LARGE', 'The body is too large.'],
  unsupported_media_type: ['UNSUPPORTED_MEDIA_TYPE', 'This media type is not supported here.'],
  too_many_requests: ['TOO_MANY_REQUESTS', 'Too many requests. Try again later.'],
  provider_failed: ['INTERNAL_SERVER_ERROR', 'The AI provider did not answer. Try again later.'],
  client_gone: ['CLIENT_CLOSED_REQUEST', 'The client went away.'],
  busy: ['SERVICE_UNAVAILABLE', 'The service is busy. Try again in a moment.'],
  unavailable: ['SERVICE_UNAVAILABLE', 'The service is not available. Try again later.'],
} as const satisfies Record<string, readonly [TRPC_ERROR_CODE_KEY, string]>

export type ProblemName = keyof typeof problems
export const problemNames = Object.keys(problems) as ProblemName[]

/** The sentence of a problem, the same at every occurrence; undefined for other words. */
export const sentenceOf = (name: string): string | undefined => problems[name as ProblemName]?.[1]

/** More than anybody reads of one answer. */
export const MAX_ISSUES = 20

/** One wrong place in the input, as the path to it and a sentence without its name. */
export interface Issue {
  path: readonly (string | number)[]
  message: string
}

interface ProblemOptions {
  detail?: string
  issues?: readonly Issue[]
  cause?: unknown
}

export class Problem extends TRPCError {
  readonly problem: ProblemName
  readonly issues: readonly Issue[]
  /** Set where there is no context to take it from. */
  requestId?: string

  constructor(problem: ProblemName, { detail, issues = [], cause }: ProblemOptions = {}) {
    const [code, sentence] = problems[problem]
    super({ code, message: detail ?? sentence, cause })
    this.name = 'Problem'
    this.problem = problem
    this.issues = issues
  }
}
