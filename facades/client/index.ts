import {
  createTRPCUntypedClient,
  httpBatchLink,
  httpBatchStreamLink,
  splitLink,
  type TRPCClient,
  TRPCClientError,
} from '@trpc/client'
import type { ErrorCode as ServiceErrorCode } from '../../routers/core/problems.ts'
import type { AppRouter } from '../../routers/index.ts'
import type { InlinedTypes } from './inlined-types.ts'
import { type SubscriptionEvent, subscribeToEvents } from './live/event-source.ts'
import type { Failure, Service } from './live/service.ts'
import { StreamEnded } from './live/transport.ts'
import type { Json, RecordRef } from './values.ts'

export type { Json, RecordRef }

export interface ClientOptions {
  /** Base URL of the service, such as `https://svc.example.org`. */
  url: string
  /** A personal access token; on pages of the service itself none is needed, as its session counts. */
  token?: string
  /** Sent with every request beside the token, such as `x-app-locale`; a function is asked before each. */
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>)
  /** Used in place of the built-in `fetch`, for example to go through a proxy. */
  fetch?: typeof fetch
}

/** The kind of an error; `internal` is a failure of the server, `unreachable` means that no server answered. */
export type ErrorCode = ServiceErrorCode | 'unreachable' | 'aborted'

/** An invalid member of the input. */
export interface Issue {
  path: readonly (string | number)[]
  message: string
  /** The kind of the issue, where a program can do something about it. */
  reason?: 'too_long' | 'pending'
}

/** A usage limit that has refused a call, with amounts in its unit. */
export interface LimitRefusal {
  name: string
  /** The kind of its subject, such as `user` or `model`. */
  subject: string
  unit: 'requests' | 'tokens' | 'money'
  currency: string | null
  left: number
  /** Undefined if it is not known, as the model has no price. */
  needed: number | undefined
  /** Tokens that the call may send. */
  inputTokens: number | undefined
  /** Tokens of the longest answer, for a model without a smaller bound. */
  answerTokens: number | undefined
  /** Tokens of the longest answer that would fit; undefined if none would. */
  fittingAnswerTokens: number | undefined
}

/** The error that every failed call throws, also in the middle of a stream. */
export class SvcError extends Error {
  override readonly name = 'SvcError'
  readonly code: ErrorCode
  /** Status of the HTTP response; undefined without one. */
  readonly status: number | undefined
  /** Id of the request in the log of the service. */
  readonly requestId: string | undefined
  /** Issues of an invalid input. */
  readonly issues: readonly Issue[]
  /** The time at which a repetition may succeed, if it is known: a limit resets, or the pause of a provider ends. */
  readonly retryAt: Date | undefined
  /** The usage limit that refused a call to a model. */
  readonly limit: LimitRefusal | undefined

  constructor(cause: unknown) {
    const failure = TRPCClientError.from<AppRouter>(cause as Error)
    const { message, data } = failure
    super(message, { cause })
    this.code = readCode(failure)
    this.status = data?.httpStatus
    this.requestId = data?.requestId
    this.issues = data?.issues ?? []
    this.retryAt = data?.retryAt === undefined ? undefined : new Date(data.retryAt)
    this.limit = readLimitRefusal(data)
  }
}

export type Client = ReturnType<typeof createClient>

/**
 * Creates a client with all procedures and their types. Calls of one moment are sent as a batch; each accepts an abort
 * signal.
 *
 * @example const { text } = await createClient({ url, token }).ai.ask.mutate({ model, messages })
 * @throws {SvcError} from every call that fails
 */
export function createClient({ url, token, headers, fetch }: ClientOptions) {
  const getHeaders = async () => ({
    ...(typeof headers === 'function' ? await headers() : headers),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  })
  const options = {
    url: `${url.replace(/\/+$/, '')}/trpc`,
    headers: getHeaders,
    ...(fetch && { fetch: fetch as never }),
    maxItems: 20,
  }
  const link = splitLink<AppRouter>({
    condition: ({ type, path }) => type === 'query' || streamingMutations.test(path),
    true: splitLink({
      condition: ({ type }) => type === 'query',
      true: httpBatchStreamLink(options),
      // A request ends when all of its calls are aborted, so each answer has its own.
      false: httpBatchStreamLink({ ...options, maxItems: 1 }),
    }),
    // A streamed response sends its headers before the calls run, but calls that change a session set a cookie.
    false: httpBatchLink(options),
  })
  const client = createTRPCUntypedClient<AppRouter>({ links: [link] })
  const service = { url, headers: getHeaders, ...(fetch && { fetch }) }
  const call: Call = async (path, kind, input, options) => {
    if (kind === 'subscribe') return subscribe(service, path, input, options)
    return kind === 'query' ? client.query(path, input, options) : client.mutation(path, input, options)
  }
  return inline(createProcedureProxy([], call) as TRPCClient<AppRouter>)
}

/** Mutations that stream their result. */
const streamingMutations = /stream$/i

/** Subscribes to a stream, and resumes after a lost connection. */
async function* subscribe(
  service: Service,
  path: string,
  args: unknown,
  options: CallOptions,
): AsyncGenerator<SubscriptionEvent> {
  const { lastEventId: after, ...input } = (args ?? {}) as { lastEventId?: string }
  const { signal = new AbortController().signal } = options ?? {}
  try {
    yield* subscribeToEvents(service, path, { input, after, endsWhereTooOld: true, signal })
  } catch (error) {
    if (!(error instanceof StreamEnded)) throw error
    const { message = error.message, ...data } = (error.cause ?? {}) as Failure
    throw TRPCClientError.from({ error: { message, code: 0, data } })
  }
}

const inline = <T>(value: T) => value as InlinedTypes<T>

type CallOptions = { signal?: AbortSignal } | undefined
type Call = (path: string, kind: string, input: unknown, options: CallOptions) => Promise<unknown>

/** Creates a proxy for a path of names; the last name is the kind of call. */
function createProcedureProxy(names: readonly string[], call: Call): unknown {
  return new Proxy(() => {}, {
    // The proxy must not look like a promise.
    get: (_, name) =>
      typeof name === 'string' && name !== 'then' ? createProcedureProxy([...names, name], call) : undefined,
    apply: async (_, __, [input, options]: [unknown, CallOptions]) => {
      try {
        return wrapStream(await call(names.slice(0, -1).join('.'), names.at(-1) ?? '', input, options))
      } catch (cause) {
        throw new SvcError(cause)
      }
    },
  })
}

/** Converts the errors of a stream, too. */
function wrapStream(answer: unknown): unknown {
  const isStream = typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer
  return isStream ? convertErrors(answer as AsyncIterable<unknown>) : answer
}

async function* convertErrors(stream: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  try {
    yield* stream
  } catch (cause) {
    throw new SvcError(cause)
  }
}

function readLimitRefusal(data: TRPCClientError<AppRouter>['data'] | undefined): LimitRefusal | undefined {
  if (data?.limit === undefined) return undefined
  const { limit: name, limitSubject = '', limitUnit, limitCurrency = null } = data
  return {
    name,
    subject: limitSubject,
    unit: limitUnit as LimitRefusal['unit'],
    currency: limitCurrency,
    left: Number(data.limitLeft),
    needed: readNumber(data.limitNeeded),
    inputTokens: readNumber(data.inputTokens),
    answerTokens: readNumber(data.answerTokens),
    fittingAnswerTokens: readNumber(data.fittingAnswerTokens),
  }
}

const readNumber = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text))

function readCode({ data, cause }: TRPCClientError<AppRouter>): ErrorCode {
  if (!data) return cause?.name === 'AbortError' || cause?.name === 'TimeoutError' ? 'aborted' : 'unreachable'
  if (data.problem) return data.problem
  if (data.issues) return 'invalid'
  if (data.httpStatus >= 500) return 'internal'
  return data.httpStatus === 404 ? 'not_found' : 'bad_request'
}
