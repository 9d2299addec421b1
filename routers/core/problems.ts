import { type TRPC_ERROR_CODE_KEY, TRPCError } from '@trpc/server'

/** An error code's status in terms of tRPC, and its fixed title. */
type ErrorKind = readonly [status: TRPC_ERROR_CODE_KEY, title: string, wire?: HttpFacts]

interface HttpFacts {
  /** The HTTP status, if tRPC has no equivalent. */
  http?: number
  /** The request header that is at fault. */
  header?: string
}

/** The closed list of errors. Facades map the code, never the message. */
const errorKinds = {
  signed_out: ['UNAUTHORIZED', 'Sign in, or send a valid access token.'],
  invalid_token: ['UNAUTHORIZED', 'The access token is not valid.'],
  wrong_user_type: ['FORBIDDEN', 'This is not open to your kind of user.'],
  csrf: ['FORBIDDEN', 'The request does not come from a page of this service.'],
  login_failed: ['UNAUTHORIZED', 'Wrong username or password.'],
  account_disabled: ['FORBIDDEN', 'Your account is disabled. Ask your administrator.'],
  account_without_username: ['FORBIDDEN', 'Your account has no username here. Ask your administrator.'],
  account_username_invalid: [
    'FORBIDDEN',
    'The username of your account has characters that cannot be used here. Ask your administrator.',
  ],
  account_without_email: ['FORBIDDEN', 'Your account has no e-mail address here. Ask your administrator.'],
  account_email_invalid: ['FORBIDDEN', 'The e-mail address of your account is not valid. Ask your administrator.'],
  account_without_subject: [
    'FORBIDDEN',
    'Your account has no permanent id at its login source. Ask your administrator.',
  ],
  username_taken: ['CONFLICT', 'Your username belongs to another account here. Ask your administrator.'],
  email_taken: ['CONFLICT', 'Your e-mail address belongs to another account here. Ask your administrator.'],
  account_exists: ['CONFLICT', 'There is an account with a password already. Sign in with it.'],
  invitation_invalid: [
    'NOT_FOUND',
    'This invitation does not work: it was used, has ended, or is older than 72 hours. Ask for another one.',
  ],
  wrong_password: ['UNPROCESSABLE_CONTENT', 'The current password is wrong.'],
  fresh_login_needed: ['FORBIDDEN', 'Sign in again to do this.'],
  registered_already: ['CONFLICT', 'This account has keys already. Sign in again to unlock them.'],
  host_only: ['FORBIDDEN', 'This command runs only on the host.'],
  session_only: ['FORBIDDEN', 'An access token cannot do this; sign in to the browser front end.'],
  admin_only: ['FORBIDDEN', 'Only an administrator may do this.'],
  not_permitted: ['FORBIDDEN', 'You may see this record, but not change it like this.'],
  missing_ability: ['FORBIDDEN', 'The access token lacks the ability for this.'],
  external_communication_off: ['FORBIDDEN', 'External API access is disabled.'],
  external_apps_off: ['FORBIDDEN', 'External apps are disabled.'],
  ai_in_rooms_off: ['FORBIDDEN', 'Programs may not ask models in rooms.'],
  connect_request_invalid: ['BAD_REQUEST', 'The connect request is invalid or has expired.'],
  authorization_invalid: ['BAD_REQUEST', 'The request of this program is not valid.'],
  oauth_refused: ['BAD_REQUEST', 'The request of this program was refused.'],
  linked_elsewhere: ['CONFLICT', 'This user of the app is linked to another account.'],
  token_creation_off: [
    'FORBIDDEN',
    'Token creation by users is disabled. Please contact your administrator for API access.',
  ],
  unknown_language: ['BAD_REQUEST', 'Invalid language'],
  not_found: ['NOT_FOUND', 'There is no such record.'],
  invalid: ['UNPROCESSABLE_CONTENT', 'The input is not valid.'],
  quota_reached: ['UNPROCESSABLE_CONTENT', 'There is no room for more. Delete what is no longer needed.'],
  invalid_query: ['BAD_REQUEST', 'A query parameter is not valid.'],
  precondition_failed: ['PRECONDITION_FAILED', 'The record has changed in the meantime.', { header: 'If-Match' }],
  precondition_required: [
    'PRECONDITION_REQUIRED',
    'This change requires the version of the record that you have read.',
    { header: 'If-Match' },
  ],
  read_only: ['FORBIDDEN', 'This cannot be changed here.'],
  conflict: ['CONFLICT', 'This would contradict another record.'],
  room_key_needed: [
    'CONFLICT',
    'Somebody who is no longer in the room has its key: give the room a new key, and encrypt the message with that.',
  ],
  folder_unusable: ['CONFLICT', 'This folder cannot be used.'],
  confirmation_needed: ['CONFLICT', 'This must be confirmed.'],
  keychain_rewrapped: ['CONFLICT', 'The keychain has changed or was encrypted again. Unlock it again.'],
  key_epoch_outdated: ['CONFLICT', 'The room has another key by now: encrypt the message with it.'],
  invalid_document: ['UNPROCESSABLE_CONTENT', 'The document is not valid.'],
  wrong_type: ['CONFLICT', 'The type or id does not match the address.'],
  client_id: ['FORBIDDEN', 'The server assigns ids.'],
  idempotency_key: [
    'BAD_REQUEST',
    'An idempotency key has 1 to 255 visible characters.',
    { header: 'Idempotency-Key' },
  ],
  idempotency_conflict: ['CONFLICT', 'The idempotency key is taken.', { header: 'Idempotency-Key' }],
  method_not_allowed: ['METHOD_NOT_SUPPORTED', 'This address does not support this method.'],
  not_acceptable: [
    'BAD_REQUEST',
    'Only application/vnd.api+json is sent, without other parameters than profile.',
    { http: 406, header: 'Accept' },
  ],
  position_too_old: ['BAD_REQUEST', 'The changes since this position are no longer stored.', { http: 410 }],
  range_not_satisfiable: ['BAD_REQUEST', 'The file does not have this part.', { http: 416, header: 'Range' }],
  upload_timeout: ['TIMEOUT', 'The upload took too long.'],
  too_large: ['PAYLOAD_TOO_LARGE', 'The body is too large.'],
  unsupported_media_type: [
    'UNSUPPORTED_MEDIA_TYPE',
    'This media type is not supported here.',
    { header: 'Content-Type' },
  ],
  too_many_requests: ['TOO_MANY_REQUESTS', 'Too many requests. Try again later.'],
  limit_reached: ['TOO_MANY_REQUESTS', 'A usage limit is reached.'],
  limit_held: ['TOO_MANY_REQUESTS', 'Running calls reserve the rest of a usage limit. Try again in a moment.'],
  announcement_pending: ['FORBIDDEN', 'An announcement must be accepted first.'],
  attachment_pending: ['CONFLICT', 'The text of an attachment is still being read. Try again in a moment.'],
  provider_failed: ['INTERNAL_SERVER_ERROR', 'The AI provider did not answer. Try again later.'],
  provider_rate_limited: ['TOO_MANY_REQUESTS', 'The AI provider has too many requests. Try again in a moment.'],
  provider_quota_exceeded: [
    'INTERNAL_SERVER_ERROR',
    'This service has used up its account at the AI provider. Please contact your administrator.',
  ],
  provider_key_refused: [
    'INTERNAL_SERVER_ERROR',
    'The AI provider does not accept the API key of this service. Please contact your administrator.',
  ],
  provider_model_unknown: [
    'INTERNAL_SERVER_ERROR',
    'The AI provider does not know the model. Please contact your administrator, or ask another model.',
  ],
  provider_broke_off: [
    'INTERNAL_SERVER_ERROR',
    'The answer of the AI provider broke off, or could not be read. Try again later.',
  ],
  provider_paused: [
    'INTERNAL_SERVER_ERROR',
    'The AI provider is not asked for a while, because several calls have failed. Try again later.',
  ],
  context_length_exceeded: [
    'UNPROCESSABLE_CONTENT',
    'The request is longer than the context of the model. Shorten the conversation, or ask another model.',
  ],
  provider_refused: ['UNPROCESSABLE_CONTENT', 'The AI provider refused to answer this.'],
  client_gone: ['CLIENT_CLOSED_REQUEST', 'The client closed the connection.'],
  busy: ['SERVICE_UNAVAILABLE', 'The service is busy. Try again in a moment.'],
  unavailable: ['SERVICE_UNAVAILABLE', 'The service is not available. Try again later.'],
  unsupported_include: ['BAD_REQUEST', 'This include path is not supported.'],
  unsupported_sort: ['BAD_REQUEST', 'This order is not supported.'],
  unsupported_filter: ['BAD_REQUEST', 'This filter is not supported.'],
  unsupported_fields: ['BAD_REQUEST', 'This field does not exist.'],
  unsupported_parameter: ['BAD_REQUEST', 'This parameter is not supported.'],
  invalid_page: ['BAD_REQUEST', 'This page is not valid.'],
  invalid_attribute: ['UNPROCESSABLE_CONTENT', 'An attribute is not valid.'],
  invalid_relationship: ['UNPROCESSABLE_CONTENT', 'A relationship is not valid.'],
  bad_request: ['BAD_REQUEST', 'The request could not be understood.'],
  internal: ['INTERNAL_SERVER_ERROR', 'Something went wrong on the server.'],
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof errorKinds

/**
 * Reasons why a sign-in with the right password fails; the person is told, because only an administrator can change it.
 */
const accountProblems: readonly ErrorCode[] = [
  'account_disabled',
  'account_without_username',
  'account_username_invalid',
  'account_without_email',
  'account_email_invalid',
  'account_without_subject',
  'username_taken',
  'email_taken',
]
export const isAccountProblem = (code: string): boolean => accountProblems.some((problem) => problem === code)

export const errorCodes = Object.keys(errorKinds) as ErrorCode[]

/** Returns status, title and HTTP details of an error code. */
export function getErrorKind(code: ErrorCode): { status: TRPC_ERROR_CODE_KEY; title: string } & HttpFacts {
  const [status, title, wire]: ErrorKind = errorKinds[code]
  return { status, title, ...wire }
}

/** Maximum number of issues in a response. */
export const MAX_ISSUES = 20

/** An issue at one place of the input: its path, and a message without the name of the value. */
export interface Issue {
  path: readonly (string | number)[]
  message: string
  /** Machine-readable reason. */
  reason?: 'too_long' | 'pending'
}

interface ProblemOptions {
  detail?: string
  issues?: readonly Issue[]
  cause?: unknown
  /** True if the same request would fail again. */
  isFinal?: boolean
  /** Data that a program needs to continue. */
  meta?: Readonly<Record<string, string>>
}

export class Problem extends TRPCError {
  readonly problem: ErrorCode
  readonly issues: readonly Issue[]
  readonly meta: Readonly<Record<string, string>>
  readonly isFinal: boolean
  /** Set if there is no context to take it from. */
  requestId?: string

  constructor(problem: ErrorCode, { detail, issues = [], cause, isFinal = false, meta = {} }: ProblemOptions = {}) {
    const { status, title } = getErrorKind(problem)
    super({ code: status, message: detail ?? title, cause })
    this.name = 'Problem'
    this.problem = problem
    this.issues = issues
    this.meta = meta
    this.isFinal = isFinal
  }
}

/** Creates the refusal of what a person, a room or another record has too many of, or too many bytes. */
export const createQuotaProblem = (detail: string) => new Problem('quota_reached', { detail })
