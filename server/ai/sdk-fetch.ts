import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable } from 'node:stream'
import { createFetch, type HttpClient } from '../net/http-client.ts'
import { type Frame, type Progress, parseFrames, readFrames, type StreamEnd, watchEnd } from './event-stream.ts'
import { noStream, refusalOfWhole, toUnparsable, UnparsableResponse } from './provider-errors.ts'
import { openAnswer, readAnswer } from './provider-response.ts'

interface Asked {
  readonly isForStream: boolean
  isAnswered: boolean
  /** The data of the first event of a stream, of which a library may not say why it cannot read it. */
  firstEvent?: string | undefined
  /** The answer that came in the other form than it was asked for. */
  readonly received?: string
}

const currentRequest = new AsyncLocalStorage<Asked>()

/** `fetch` for a library. Throws what is no answer, so that it reads none, and notes any other for whoever asks by it. */
export function answerFetch(
  connection: Pick<HttpClient, 'read' | 'send'>,
  end: StreamEnd = { progressAt: () => 'running' },
): HttpClient['fetch'] {
  const read = createFetch(async (url, request) => {
    const answer = await readAnswer(
      connection,
      url,
      request,
      watchEnd(
        () =>
          ({ data }) =>
            end.progressAt(data),
      ),
    )
    if (isStream(answer.body)) throw new OtherForm(withEnd(answer.body, end))
    return answer
  })
  const open = createFetch(async (url, request) => {
    const answer = await openAnswer(connection, url, request)
    return { ...answer, body: await openEvents(answer.body, end) }
  })
  return async (input, init) => {
    const asked = currentRequest.getStore()
    if (asked?.received !== undefined) return new Response(asked.received)
    const answer = await (asked?.isForStream ? open : read)(input, init)
    if (asked) asked.isAnswered = true
    return answer
  }
}

/** Reads on until the first event is whole: libraries say nothing before it. */
async function openEvents(body: Readable, { progressAt, lastEvent }: StreamEnd): Promise<Readable> {
  let progress: Progress = 'running'
  const batches = readFrames(body, () => progress)
  const { value: first = [] } = await batches.next()
  const document = first.find(({ isDocument }) => isDocument)?.data
  if (document !== undefined) throw refusalOfWhole(JSON.parse(document)) ? noStream(document) : new OtherForm(document)
  const asked = currentRequest.getStore()
  if (asked) asked.firstEvent = first[0]?.data
  const write = (frames: readonly Frame[]) => {
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

const writeEvent = ({ event, data }: Frame): string =>
  `${event ? `event: ${event}\n` : ''}data: ${data.replaceAll(/\r?\n/g, '\ndata: ')}\n\n`

/** The text of a stream, with the event that its library waits for. */
function withEnd(text: string, { progressAt, lastEvent }: StreamEnd): string {
  const reached = parseFrames(text).map(({ data }) => progressAt(data))
  const isWanting = lastEvent && reached.includes('complete') && !reached.includes('over')
  return isWanting ? `${text}\n\n${writeEvent(lastEvent)}` : text
}

function isStream(text: string): boolean {
  try {
    return parseFrames(text).every(({ isDocument }) => !isDocument)
  } catch {
    return false
  }
}

/** An answer that is a document where a stream was asked for, or the reverse. */
class OtherForm extends Error {
  readonly text: string

  constructor(text: string) {
    super('the answer has another form than it was asked for')
    this.text = text
  }
}

interface Ways<T> {
  isForStream?: boolean
  ask(): Promise<T>
  /** Reads an answer by the library that came in the other form. */
  askOther?(): Promise<T>
}

/** Asks by a library, which neither says whether an answer came nor throws its errors in one way. */
export async function readEitherForm<T>({ isForStream = false, ask, askOther }: Ways<T>): Promise<T> {
  const asked: Asked = { isForStream, isAnswered: false }
  try {
    return await currentRequest.run(asked, ask)
  } catch (error) {
    // The AI SDK wraps what looks like a failure to connect.
    const { cause } = (error ?? {}) as Error
    if (cause instanceof UnparsableResponse) throw cause
    if (error instanceof OtherForm) return readOther(error, isForStream, askOther)
    throw asked.isAnswered ? toUnparsable(error, asked.firstEvent) : error
  }
}

async function readOther<T>(form: OtherForm, wasForStream: boolean, askOther: Ways<T>['askOther']): Promise<T> {
  const isForStream = !wasForStream
  const received = isForStream ? parseFrames(form.text).map(writeEvent).join('') : form.text
  try {
    if (!askOther) throw form
    return await currentRequest.run({ isForStream, isAnswered: true, received }, askOther)
  } catch (error) {
    throw toUnparsable(error, form.text)
  }
}

type Members = Readonly<Record<string, unknown>>

/** Adds members to a request body; where both have a member, objects are merged and other values stay as they are. */
export function addMembers(written: object, extra: Members): Members {
  const body = Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined))
  const merged = Object.entries(extra).map(([name, value]): [string, unknown] => {
    const own = body[name]
    return [name, isObject(own) && isObject(value) ? addMembers(own, value) : (own ?? value)]
  })
  return { ...body, ...Object.fromEntries(merged) }
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Adds members to each body that goes out; an SDK drops what it does not know. */
export function fetchWithMembers(fetch: HttpClient['fetch'], extra: Members): HttpClient['fetch'] {
  if (Object.keys(extra).length === 0) return fetch
  return (url, init) => fetch(url, { ...init, body: JSON.stringify(addMembers(JSON.parse(String(init?.body)), extra)) })
}
