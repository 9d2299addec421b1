import { type Change, StreamEnded } from './transport.ts'

/** Where the service runs, and how to call it. */
export interface Service {
  /** Such as `https://svc.example.org`. */
  url: string
  /** Sent with every request, such as `authorization`; a page of the service needs none, as its session counts. */
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>)
  /** Used in place of the built-in one. */
  fetch?: typeof fetch
  /** After how many milliseconds a request without an answer is given up; 30,000 unless told otherwise. */
  timeout?: number
}

export const timeoutOf = ({ timeout = 30_000 }: Service): number => timeout

/** Calls a procedure that reads, by GET. */
export async function call(
  { url, headers, fetch: send = fetch }: Service,
  path: string,
  { input, ...init }: { input: object; signal: AbortSignal; headers?: Record<string, string> },
): Promise<Response> {
  const own = typeof headers === 'function' ? await headers() : headers
  const query = `input=${encodeURIComponent(JSON.stringify(input))}`
  return send(`${url.replace(/\/+$/, '')}/trpc/${path}?${query}`, { ...init, headers: { ...own, ...init.headers } })
}

/** What the service says of a failure. */
export interface Failure {
  message?: string
  httpStatus?: number
  problem?: string
  code?: string
  /** Where to begin anew, where a position is too old. */
  position?: string
}

/** Reads the failure from an answer with an error status. */
export async function readFailure(response: Response): Promise<Failure> {
  const body = (await response.json().catch(() => ({}))) as Answer
  return { httpStatus: response.status, message: body.error?.message ?? '', ...body.error?.data }
}

/** Throws where trying again is of no use; else the caller may do so. */
export function assertRetryable(failure: Failure): void {
  const { httpStatus = 500, problem, code = '' } = failure
  if (httpStatus >= 400 && httpStatus < 500 && httpStatus !== 408 && httpStatus !== 429)
    throw new StreamEnded(problem ?? code.toLowerCase(), failure)
}

export interface Changes {
  changes: Change[]
  /** Where to go on from. */
  position: string
  /** Whether there are more already. */
  hasMore: boolean
}

/** What has changed behind a position; or where to begin anew, as that is not known any more. */
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
