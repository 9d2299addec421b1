import type { Readable } from 'node:stream'
import { createParser } from 'eventsource-parser'
import { tryParseJson } from '../../routers/ports/json.ts'
import type { EndDetector } from '../net/response-handler.ts'
import { toMissingStreamError, toUnparsableError } from './provider-errors.ts'

/** A server-sent event with JSON data. */
export interface StreamEvent {
  event?: string | undefined
  data: string
  /** True if the whole response is one document instead of a stream. */
  isDocument?: true
}

/**
 * Progress of a streamed answer: `ended` after the finish reason, `complete` once the usage is reported too, `over`
 * after the last event.
 */
export type StreamProgress = 'running' | 'ended' | 'complete' | 'over'

/** Returns the progress of an answer after an event with this data. */
type ProgressReader = (data: string) => StreamProgress

/** Milliseconds to wait for more after the answer is complete. */
const SILENCE_MS = 1000

/**
 * Reads the events of a stream and yields those of one network read together. An answer that has ended stays valid,
 * even if the connection fails afterwards. Throws if there is no event.
 */
export async function* readEvents(
  body: Readable,
  progress: () => StreamProgress,
): AsyncGenerator<readonly StreamEvent[], void> {
  const decoder = new TextDecoder()
  const parser = new EventParser()
  const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]()
  let isRead = false
  try {
    while (progress() !== 'over') {
      const step = await readNextChunk(chunks, progress())
      const events = parser.feed(decoder.decode(step.value, { stream: !step.done }))
      if (events.length > 0) yield events
      if (step.done) break
    }
    if (progress() !== 'over') yield parser.end()
    isRead = true
  } catch (error) {
    throw parser.toReadError(error)
  } finally {
    if (isRead) drainBody(body, chunks)
    else body.destroy()
  }
}

/** Returns a function that watches a response for the end of a stream, even though no stream was requested. */
export function createEndWatch(start: () => (event: StreamEvent) => StreamProgress): EndDetector {
  let watch: EndDetector | undefined
  return (piece) => {
    if (!watch && piece.trim() !== '') watch = /^\s*[:a-z]/.test(piece) ? watchStream(start()) : () => undefined
    return watch?.(piece)
  }
}

function watchStream(readProgress: (event: StreamEvent) => StreamProgress): EndDetector {
  const parser = new EventParser()
  let progress: StreamProgress = 'running'
  return (piece) => {
    for (const event of parser.feed(piece)) progress = progress === 'over' ? progress : readProgress(event)
    return waitsByProgress[progress]
  }
}

/** Milliseconds to wait for more, by the progress of the answer. */
const waitsByProgress: Record<StreamProgress, number | undefined> = {
  running: undefined,
  ended: Infinity,
  complete: SILENCE_MS,
  over: 0,
}

/** Reads the events of a complete text, or returns the text as a single document. */
export function parseEvents(text: string): readonly StreamEvent[] {
  if (/^\s*[[{]/.test(text)) return [{ data: text, isDocument: true }]
  const parser = new EventParser()
  return cutAfterDone([...parser.feed(text), ...parser.end()])
}

/** Drops everything after `[DONE]`. */
export function cutAfterDone(events: readonly StreamEvent[]): readonly StreamEvent[] {
  const end = events.findIndex(({ data }) => data === DONE)
  return end === -1 ? events : events.slice(0, end + 1)
}

const END = { done: true, value: undefined } as const

type Chunk = IteratorResult<Uint8Array, undefined>

/** Reads the next chunk. After the end of the answer, an error or a time-out counts as the end of the stream. */
function readNextChunk(chunks: AsyncIterator<Uint8Array>, progress: StreamProgress): Promise<Chunk> {
  const next = chunks.next() as Promise<Chunk>
  if (progress === 'running') return next
  if (progress === 'ended') return next.catch(() => END)
  const silence = Promise.withResolvers<typeof END>()
  const timer = setTimeout(() => silence.resolve(END), SILENCE_MS)
  return Promise.race([next.catch(() => END), silence.promise]).finally(() => clearTimeout(timer))
}

/** Waits a moment for the server to close the stream, so that the connection can be reused. */
function drainBody(body: Readable, chunks: AsyncIterator<Uint8Array>): void {
  if (body.readableEnded || body.destroyed) return
  const timer = setTimeout(() => body.destroy(), SILENCE_MS).unref()
  const readOn = async () => {
    while (!(await chunks.next()).done);
  }
  readOn()
    .catch(() => body.destroy())
    .finally(() => clearTimeout(timer))
}

/** Parses events from text that comes in chunks, and skips those without JSON. */
class EventParser {
  #events: StreamEvent[] = []
  /** Text before the first event: a document, an HTML page, or a part of one. */
  #unparsed: string | undefined = ''
  #isEnding = false
  readonly #parser = createParser({
    onEvent: ({ event, data }) => {
      if (data.startsWith('{') && !this.#isEnding && !data.includes('\n')) {
        this.#unparsed = undefined
        this.#events.push({ event, data })
        return
      }
      const jsonTexts = splitJson(data).filter((json) => !this.#isEnding || isJson(json))
      if (jsonTexts.length === 0) return
      this.#unparsed = undefined
      this.#events.push(...jsonTexts.map((data) => ({ event, data })))
    },
  })

  feed(text: string): readonly StreamEvent[] {
    if (this.#unparsed !== undefined) this.#unparsed += text
    return this.#takeEvents(text)
  }

  #takeEvents(text: string): readonly StreamEvent[] {
    this.#parser.feed(text)
    const events = this.#events
    this.#events = []
    return events
  }

  /**
   * Returns the remaining events. The last one may be cut, or lack its blank line. Throws if there was no event at all.
   */
  end(): readonly StreamEvent[] {
    this.#isEnding = true
    const rest = this.#takeEvents('\n\n')
    if (this.#unparsed === undefined) return rest
    const document = this.#unparsed.trim()
    const value = tryParseJson(document)
    if (typeof value !== 'object' || value === null) throw toMissingStreamError(this.#unparsed)
    return [{ data: document, isDocument: true }]
  }

  /** Adds the text that was received to a connection error if no event came. */
  toReadError(error: unknown): unknown {
    return this.#unparsed === undefined || this.#isEnding ? error : toUnparsableError(error, this.#unparsed)
  }
}

/** Some servers send words that keep the connection alive, `null`, or several objects as lines of one event. */
function splitJson(data: string): string[] {
  const text = data.trim()
  if (text === DONE) return [DONE]
  if (!/^[[{]/.test(text)) return []
  const lines = text.includes('\n') ? text.split('\n').map((line) => line.trim()) : []
  const areObjects = lines.length > 1 && lines.every((line) => line === DONE || /^\{.*\}$/.test(line))
  return areObjects ? lines : [text]
}

const isJson = (text: string) => text === DONE || tryParseJson(text) !== undefined

/** Data of the last event of a chat completion. */
export const DONE = '[DONE]'

/** The end of a protocol's streams. */
export interface StreamEnding {
  readProgress: ProgressReader
  /** The last event, without which the library does not read the end. */
  lastEvent?: StreamEvent
}

type Event = Readonly<Record<string, unknown>>

/** Events are parsed only if their text matches the pattern, to save time. */
const createProgressReader =
  (pattern: RegExp, readProgress: (event: Event) => StreamProgress): ProgressReader =>
  (data) => {
    if (data === DONE) return 'over'
    const event = pattern.test(data) ? tryParseJson(data) : undefined
    return typeof event === 'object' && event !== null ? readProgress(event as Event) : 'running'
  }

const responseEnds = new Set<unknown>(['response.completed', 'response.incomplete', 'response.failed'])

/** OpenAI's Responses API ends a stream with one of several events. */
export const openaiStreamEnding: StreamEnding = {
  readProgress: createProgressReader(/"response\.(completed|incomplete|failed)"/, ({ type }) =>
    responseEnds.has(type) ? 'over' : 'running',
  ),
}

/** Anthropic sends the finish reason and the usage before its last event. */
export const anthropicStreamEnding: StreamEnding = {
  readProgress: createProgressReader(/"(message_stop|stop_reason)"/, ({ type, delta }) => {
    if (type === 'message_stop') return 'over'
    const { stop_reason: reason } = (delta ?? {}) as { stop_reason?: unknown }
    return type === 'message_delta' && reason ? 'complete' : 'running'
  }),
  lastEvent: { event: 'message_stop', data: '{"type":"message_stop"}' },
}

/** Google has no last event. */
export const googleStreamEnding: StreamEnding = {
  readProgress: createProgressReader(/"finishReason"/, ({ candidates, usageMetadata }) => {
    const [candidate] = Array.isArray(candidates) ? candidates : []
    if (!candidate?.finishReason) return 'running'
    return usageMetadata ? 'complete' : 'ended'
  }),
}
