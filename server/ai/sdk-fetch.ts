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
  /** The data of the first event of a stream, of which a library may not say why it cannot read it. */
  firstEvent?: string | undefined
  /** The answer that came in the other form than it was asked for. */
  readonly received?: string
}

const currentRequest = new AsyncLocalStorage<SdkRequest>()

/** `fetch` for a library. Throws what is no answer, so that it reads none, and notes any other for whoever asks by it. */
export function createSdkFetch(
  connection: Pick<HttpClient, 'read' | 'send'>,
  end: StreamEnding = { progressAt: () => 'running' },
): HttpClient['fetch'] {
  const read = createFetch(async (url, request) => {
    const answer = await readResponse(
      connection,
      url,
      request,
      createEndWatch(
        () =>
          ({ data }) =>
            end.progressAt(data),
      ),
    )
    if (isStream(answer.body)) throw new UnexpectedFormError(appendLastEvent(answer.body, end))
    return answer
  })
  const open = createFetch(async (url, request) => {
    const answer = await openResponse(connection, url, request)
    return { ...answer, body: await readFirstEvent(answer.body, end) }
  })
  return async (input, init) => {
    const request = currentRequest.getStore()
    if (request?.received !== undefined) return new Response(request.received)
    const answer = await (request?.isForStream ? open : read)(input, init)
    if (request) request.hasResponse = true
    return answer
  }
}

/** Reads on until the first event is whole: libraries say nothing before it. */
async function readFirstEvent(body: Readable, { progressAt, lastEvent }: StreamEnding): Promise<Readable> {
  let progress: StreamProgress = 'running'
  const batches = readEvents(body, () => progress)
  const { value: first = [] } = await batches.next()
  const document = first.find(({ isDocument }) => isDocument)?.data
  if (document !== undefined)
    throw findReportedError(JSON.parse(document)) ? toMissingStreamError(document) : new UnexpectedFormError(document)
  const request = currentRequest.getStore()
  if (request) request.firstEvent = first[0]?.data
  const write = (frames: readonly StreamEvent[]) => {
    for (const { data } of frames) progress = progress === 'over' ? progress : progressAt(data)
    return Buffer.from(frames.map(writeEvent).join(''))
  }
  async function* events() {
    try {
      yield write(first)
      for await (const frames of batches) yield write(frames)
      if (progress === 'complete' && lastEvent) yield write([lastEvent])
    } finally {
      await batches.return()
    }
  }
  return Readable.from(events())
}

const writeEvent = ({ event, data }: StreamEvent): string =>
  `${event ? `event: ${event}\n` : ''}data: ${data.replaceAll(/\r?\n/g, '\ndata: ')}\n\n`

/** The text of a stream, with the event that its library waits for. */
function appendLastEvent(text: string, { progressAt, lastEvent }: StreamEnding): string {
  const reached = parseEvents(text).map(({ data }) => progressAt(data))
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

/** An answer that is a document where a stream was asked for, or the reverse. */
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
  /** Reads an answer by the library that came in the other form. */
  readOther?(): Promise<T>
}

/** Asks by a library, which neither says whether an answer came nor throws its errors in one way. */
export async function readEitherForm<T>({ isForStream = false, send, readOther }: RequestMethods<T>): Promise<T> {
  const request: SdkRequest = { isForStream, hasResponse: false }
  try {
    return await currentRequest.run(request, send)
  } catch (error) {
    // The AI SDK wraps what looks like a failure to connect.
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

/** Adds members to a request body; where both have a member, objects are merged and other values stay as they are. */
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

/** Adds members to each body that goes out; an SDK drops what it does not know. */
export function withExtraMembers(fetch: HttpClient['fetch'], extra: Members): HttpClient['fetch'] {
  if (Object.keys(extra).length === 0) return fetch
  return (url, init) =>
    fetch(url, { ...init, body: JSON.stringify(mergeMembers(JSON.parse(String(init?.body)), extra)) })
}
