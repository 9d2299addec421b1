import { type Change, StreamEnded } from './transport.ts'

/** Address and options of the service. */
export interface Service {
  /** The base URL, such as `https://svc.example.org`. */
  url: string
  /** Sent with every request, such as `authorization`; a page of the service needs none, as its session counts. */
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>)
  /** Used in place of the built-in one. */
  fetch?: typeof fetch
  /** Timeout of a request in milliseconds; 30,000 by default. */
  timeout?: number
}

export const timeoutOf = ({ timeout = 30_000 }: Service): number => timeout

/** Calls a query by GET. */
export async function call(
  { url, headers, fetch: send = fetch }: Service,
  path: string,
  { input, ...init }: { input: object; signal: AbortSignal; headers?: Record<string, string> },
): Promise<Response> {
  const own = typeof headers === 'function' ? await headers() : headers
  const query = `input=${encodeURIComponent(JSON.stringify(input))}`
  return send(`${url.replace(/\/+$/, '')}/trpc/${path}?${query}`, { ...init, headers: { ...own, ...init.headers } })
}

/** The error data of the service. */
export interface Failure {
  message?: string
  httpStatus?: number
  problem?: string
  code?: string
  /** The current position, if the requested one is too old. */
  position?: string
}

/** Reads the failure from an error response. */
export async function readFailure(response: Response): Promise<Failure> {
  const body = (await response.json().catch(() => ({}))) as Answer
  return { httpStatus: response.status, message: body.error?.message ?? '', ...body.error?.data }
}

/** Throws if a retry is useless. */
export function assertRetryable(failure: Failure): void {
  const { httpStatus = 500, problem, code = '' } = failure
  if (httpStatus >= 400 && httpStatus < 500 && httpStatus !== 408 && httpStatus !== 429)
    throw new StreamEnded(problem ?? code.toLowerCase(), failure)
}

export interface Changes {
  changes: Change[]
  /** The position to continue from. */
  position: string
  /** True if there are more changes. */
  hasMore: boolean
}

/** Reads the changes after a position; returns the current position if they are no longer kept. */
export type ChangesSince = (position: string, signal: AbortSignal) => Promise<Changes | { beginAt: string }>

/** Reads changes by `rooms.changesSince` or `users.changesSince`. */
export const readChanges =
  (service: Service, path: string, input: object = {}): ChangesSince =>
  async (after, stopped) => {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(timeoutOf(service))])
    const response = await call(service, path, { input: { ...input, page: { after } }, signal })
    if (response.ok) return ((await response.json()) as Answer).result.data.meta
    const failure = await readFailure(response)
    if (failure.problem === 'position_too_old' && failure.position) return { beginAt: failure.position }
    assertRetryable(failure)
    throw new Error(`The changes could not be read: ${response.status}`)
  }

interface Answer {
  result: { data: { meta: Changes } }
  error?: { message: string; data: Failure }
}
