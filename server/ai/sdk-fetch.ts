import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable } from 'node:stream'
import { createFetch, type HttpClient } from '../net/http-client.ts'
import {
  createEndWatch,
  parseEvents,
  readEvents,
  type StreamEnding,
  type StreamEvent,
  type StreamProgress,
} from './event-stream.ts'
import { findReportedError, toMissingStreamError, toUnparsableError, UnparsableResponse } from './provider-errors.ts'
import { openResponse, readResponse } from './provider-response.ts'

interface SdkRequest {
  readonly isForStream: boolean
  hasResponse: boolean
  /** Data of the first event of a stream, which the SDK may omit from its error. */
  firstEvent?: string | undefined
  /** Response in the other form than requested. */
  readonly received?: string
}

const currentRequest = new AsyncLocalStorage<SdkRequest>()

/**
 * Creates a `fetch` for an SDK. It throws for error responses, so that the SDK reads none, and records that a response
 * came.
 */
export function createSdkFetch(
  connection: Pick<HttpClient, 'read' | 'send'>,
  end: StreamEnding = { readProgress: () => 'running' },
): HttpClient['fetch'] {
  const read = createFetch(async (url, request) => {
    const watch = createEndWatch(() => (event) => end.readProgress(event.data))
    const response = await readResponse(connection, url, request, watch)
    if (isStream(response.body)) throw new UnexpectedFormError(appendLastEvent(response.body, end))
    return response
  })
  const open = createFetch(async (url, request) => {
    const response = await openResponse(connection, url, request)
    return { ...response, body: await openEventStream(response.body, end) }
  })
  return async (input, init) => {
    const request = currentRequest.getStore()
    if (request?.received !== undefined) return new Response(request.received)
    const response = await (request?.isForStream ? open : read)(input, init)
    if (request) request.hasResponse = true
    return response
  }
}

/** Waits for the first event, because SDKs report nothing before it, and returns the stream. */
async function openEventStream(body: Readable, { readProgress, lastEvent }: StreamEnding): Promise<Readable> {
  let progress: StreamProgress = 'running'
  const batches = readEvents(body, () => progress)
  const { value: first = [] } = await batches.next()
  const document = first.find(({ isDocument }) => isDocument)?.data
  if (document !== undefined)
    throw findReportedError(JSON.parse(document)) ? toMissingStreamError(document) : new UnexpectedFormError(document)
  const request = currentRequest.getStore()
  if (request) request.firstEvent = first[0]?.data
  const write = (events: readonly StreamEvent[]) => {
    for (const { data } of events) progress = progress === 'over' ? progress : readProgress(data)
    return Buffer.from(events.map(writeEvent).join(''))
  }
  async function* streamEvents() {
    try {
      yield write(first)
      for await (const events of batches) yield write(events)
      if (progress === 'complete' && lastEvent) yield write([lastEvent])
    } finally {
      await batches.return()
    }
  }
  return Readable.from(streamEvents())
}

const writeEvent = ({ event, data }: StreamEvent): string =>
  `${event ? `event: ${event}\n` : ''}data: ${data.replaceAll(/\r?\n/g, '\ndata: ')}\n\n`

/** Appends the last event that the SDK waits for, if it is missing. */
function appendLastEvent(text: string, { readProgress, lastEvent }: StreamEnding): string {
  const reached = parseEvents(text).map(({ data }) => readProgress(data))
  const isMissing = lastEvent && reached.includes('complete') && !reached.includes('over')
  return isMissing ? `${text}\n\n${writeEvent(lastEvent)}` : text
}

function isStream(text: string): boolean {
  try {
    return parseEvents(text).every(({ isDocument }) => !isDocument)
  } catch {
    return false
  }
}

/** The response is a document although a stream was requested, or the reverse. */
class UnexpectedFormError extends Error {
  readonly text: string

  constructor(text: string) {
    super('the answer has another form than it was asked for')
    this.text = text
  }
}

interface RequestMethods<T> {
  isForStream?: boolean
  send(): Promise<T>
  /** Reads a response that came in the other form with the SDK. */
  readOther?(): Promise<T>
}

/** Sends a request with an SDK, which neither reports whether a response came nor throws uniform errors. */
export async function readEitherForm<T>({ isForStream = false, send, readOther }: RequestMethods<T>): Promise<T> {
  const request: SdkRequest = { isForStream, hasResponse: false }
  try {
    return await currentRequest.run(request, send)
  } catch (error) {
    // The AI SDK wraps errors that look like a failure to connect.
    const { cause } = (error ?? {}) as Error
    if (cause instanceof UnparsableResponse) throw cause
    if (error instanceof UnexpectedFormError) return readOtherForm(error, isForStream, readOther)
    throw request.hasResponse ? toUnparsableError(error, request.firstEvent) : error
  }
}

async function readOtherForm<T>(
  form: UnexpectedFormError,
  wasForStream: boolean,
  readOther: RequestMethods<T>['readOther'],
): Promise<T> {
  const isForStream = !wasForStream
  const received = isForStream ? parseEvents(form.text).map(writeEvent).join('') : form.text
  try {
    if (!readOther) throw form
    return await currentRequest.run({ isForStream, hasResponse: true, received }, readOther)
  } catch (error) {
    throw toUnparsableError(error, form.text)
  }
}

type Members = Readonly<Record<string, unknown>>

/** Adds members to a request body. Objects are merged; other members of the request win. */
export function mergeMembers(request: object, extra: Members): Members {
  const body = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined))
  const merged = Object.entries(extra).map(([name, value]): [string, unknown] => {
    const own = body[name]
    return [name, isObject(own) && isObject(value) ? mergeMembers(own, value) : (own ?? value)]
  })
  return { ...body, ...Object.fromEntries(merged) }
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Adds members to each request body, since an SDK drops members that it does not know. */
export function withExtraMembers(fetch: HttpClient['fetch'], extra: Members): HttpClient['fetch'] {
  if (Object.keys(extra).length === 0) return fetch
  return (url, init) =>
    fetch(url, { ...init, body: JSON.stringify(mergeMembers(JSON.parse(String(init?.body)), extra)) })
}
