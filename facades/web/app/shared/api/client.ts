import { QueryClient } from '@tanstack/react-query'
import { type Client, createClient, SvcError } from '../../../../client/index.ts'
import { KeyStoreFailure } from '../../../browser/keystore.ts'
import { appLocale } from '../text/labels.ts'
import { countSessions, setSessionEnded } from './session-end.ts'

const service = { url: location.origin, headers: { 'x-app-locale': appLocale } }

/** The typed client of the service, which calls with the session cookie of this page. */
export const api: Client = createClient({ ...service, fetch: fetchInSession })

/** The same for a sign-in: a wrong password says nothing about the session of the page. */
export const signInApi: Client = createClient({ ...service, fetch: fetchWithTimeout })

type Result<Call extends (...args: never[]) => Promise<unknown>> = Awaited<ReturnType<Call>>

export type PageVisit = Result<Client['pages']['visit']['query']>
export type Policy = Result<Client['announcements']['latestPolicy']['query']>
export type ConsentRequest = Result<Client['consentPage']['asked']['query']>
export type AuthorizationView = Extract<Result<Client['oauth']['request']['query']>, { view: object }>['view']
export type Connection = Result<Client['connections']['get']['query']>
export type Conversation = Result<Client['conversations']['get']['query']>
/** An assistant that the person may use or change. */
export type Assistant = Result<Client['assistants']['list']['query']>['assistants'][number]
export type Model = Result<Client['aiModels']['list']['query']>['items'][number]

/** Retries only what the service could not answer, and never what it refused. */
const shouldRetry = (attempts: number, error: Error) =>
  attempts < 3 &&
  !(error instanceof KeyStoreFailure) &&
  (!(error instanceof SvcError) || error.status === undefined || error.status === 503)

export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: shouldRetry, staleTime: 30_000, refetchOnWindowFocus: false } },
})

export const isSignedOut = (error: unknown): boolean => error instanceof SvcError && error.status === 401

/** Calls a mutation while the page is closed, which outlives the page and returns nothing to it. */
export function sendOnClose(path: string, input: object): void {
  const headers = { 'content-type': 'application/json', 'x-app-locale': appLocale }
  // Browsers refuse bodies over 64 KiB here.
  void fetch(`/trpc/${path}`, { method: 'POST', keepalive: true, headers, body: JSON.stringify(input) }).catch(() => {})
}

/**
 * Calls the service, and marks the session as ended when the service answers with 401. A call that began before the
 * newest sign-in had the cookie of an earlier session.
 */
async function fetchInSession(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const session = countSessions()
  const response = await fetchWithTimeout(input, init)
  if (response.status === 401 && session === countSessions()) setSessionEnded(true)
  return response
}

/** The longest wait for the headers of a response; a working service sends them at once, however long a model thinks. */
const RESPONSE_TIMEOUT_MS = 90_000

/** The longest pause within a response; the service sends a keep-alive every 20 s. */
const IDLE_TIMEOUT_MS = 70_000

/** Calls the service with timeouts: a frozen service keeps its connections open and sends nothing. */
async function fetchWithTimeout(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const timeout = new AbortController()
  const signals = [timeout.signal, ...(init?.signal ? [init.signal] : [])]
  const timer = new IdleTimer(() => timeout.abort(new TypeError('The service is silent.')))
  timer.restart(RESPONSE_TIMEOUT_MS)
  try {
    const response = await fetch(input, { ...init, signal: AbortSignal.any(signals) })
    return withIdleTimeout(response, timer)
  } catch (error) {
    timer.stop()
    throw timeout.signal.aborted ? timeout.signal.reason : error
  }
}

/** Returns the same response, whose body restarts the timer with each chunk. */
function withIdleTimeout(response: Response, timer: IdleTimer): Response {
  const { body, status, statusText, headers } = response
  if (!body) {
    timer.stop()
    return response
  }
  timer.restart(IDLE_TIMEOUT_MS)
  const watched = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        timer.restart(IDLE_TIMEOUT_MS)
        controller.enqueue(chunk)
      },
      flush: () => timer.stop(),
    }),
  )
  return new Response(watched, { status, statusText, headers })
}

/** Calls back when it was not restarted in time. */
class IdleTimer {
  readonly #onTimeout: () => void
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(onTimeout: () => void) {
    this.#onTimeout = onTimeout
  }

  restart(milliseconds: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onTimeout, milliseconds)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
