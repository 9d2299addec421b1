import { setTimeout as pause } from 'node:timers/promises'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { ToolServerError } from '../../routers/ports/ai/tool-servers.ts'
import { tryParseJson } from '../../routers/ports/json.ts'
import { leaveBody } from '../net/response-body.ts'

/** Milliseconds until a stream is resumed, if the server names no time, and at the most. */
const RETRY_MS = 1000
const MAX_RETRY_MS = 30_000
/** Largest number of resumptions of one response, and of those in a row that bring no event. */
const MAX_RESUMPTIONS = 100
const MAX_FRUITLESS = 3

export interface ResumableRequest {
  /** Id of the JSON-RPC request that waits for an answer. */
  id: unknown
  /** Requests the rest of the stream, after the event with this id. */
  resume(lastEventId: string): Promise<Response>
  signal: AbortSignal
}

/** Returns true if the response is a stream of events. */
export const isEventStream = ({ headers, body }: Response): boolean =>
  body !== null && /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')

/**
 * Returns the response with the events of all its parts: a server may close a stream while a tool works, and go on after
 * `Last-Event-ID`. Its body fails if the stream ends before the answer and cannot be resumed.
 */
export function toResumedResponse(response: Response, request: ResumableRequest): Response {
  const { status, headers } = response
  const body = ReadableStream.from(new ResumableStream(request).read(response))
  return new Response(body, { status, headers })
}

class ResumableStream {
  readonly #request: ResumableRequest
  #isAnswered = false
  #lastEventId: string | undefined
  #retryMs = RETRY_MS

  constructor(request: ResumableRequest) {
    this.#request = request
  }

  async *read(first: Response): AsyncGenerator<Uint8Array, void> {
    let fruitless = 0
    let response: Response | undefined = first
    for (let tries = 0; tries <= MAX_RESUMPTIONS && fruitless <= MAX_FRUITLESS; tries++) {
      fruitless++
      if (response) {
        for await (const event of this.#readPart(response)) {
          fruitless = 0
          yield encodeEvent(event)
        }
      }
      if (this.#isAnswered) return
      response = await this.#resume()
    }
    throw new ToolServerError('its stream ended too often before the answer')
  }

  /** Reads the events of one response until it ends or breaks off. */
  async *#readPart({ body }: Response): AsyncGenerator<EventSourceMessage, void> {
    try {
      for await (const event of this.#parse(body as ReadableStream<Uint8Array>)) {
        this.#lastEventId = event.id ?? this.#lastEventId
        this.#isAnswered ||= isAnswer(event, this.#request.id)
        // An event without data only tells its id.
        if (event.data !== '') yield event
      }
    } catch (error) {
      if (!this.#isAnswered && !this.#canResume(error)) throw error
    }
  }

  async *#parse(body: ReadableStream<Uint8Array>): AsyncGenerator<EventSourceMessage, void> {
    const events: EventSourceMessage[] = []
    const decoder = new TextDecoder()
    const parser = createParser({
      onEvent: (event) => events.push(event),
      onRetry: (ms) => {
        this.#retryMs = Math.min(ms, MAX_RETRY_MS)
      },
    })
    for await (const chunk of body) {
      parser.feed(decoder.decode(chunk, { stream: true }))
      yield* events.splice(0)
    }
  }

  #canResume(error: unknown): boolean {
    const { code } = error as { code?: unknown }
    return this.#lastEventId !== undefined && !this.#request.signal.aborted && code !== 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
  }

  /** Returns the next part; undefined if the server could not be reached, which may pass. */
  async #resume(): Promise<Response | undefined> {
    const { resume, signal } = this.#request
    if (this.#lastEventId === undefined) throw new ToolServerError('its stream ended before the answer')
    await pause(this.#retryMs, undefined, { signal })
    const response = await resume(this.#lastEventId).catch((error: unknown) => {
      if (signal.aborted) throw error
      return undefined
    })
    if (!response || isEventStream(response)) return response
    leaveBody(response.body)
    if (response.status >= 500) return undefined
    throw new ToolServerError(`it answered the resumption of a stream with the status ${response.status}`)
  }
}

function isAnswer({ data }: EventSourceMessage, id: unknown): boolean {
  const message = tryParseJson(data) as { id?: unknown; method?: unknown } | undefined
  return message?.id === id && message?.method === undefined
}

const encoder = new TextEncoder()

function encodeEvent({ event, data }: EventSourceMessage): Uint8Array {
  const name = event === undefined ? '' : `event: ${event}\n`
  return encoder.encode(`${name}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`)
}
