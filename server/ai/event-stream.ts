import type { Readable } from 'node:stream'
import { createParser } from 'eventsource-parser'
import { tryParseJson } from '../../routers/ports/ai/tool-calls.ts'
import type { EndDetector } from '../net/response-handler.ts'
import { toMissingStreamError, toUnparsableError } from './provider-errors.ts'

/** A server-sent event that carries JSON. */
export interface StreamEvent {
  event?: string | undefined
  data: string
  /** Whether it is all of the answer, which came as one document in place of a stream. */
  isDocument?: true
}

/** How far a streamed answer has come: `ended` by its reason, `complete` with its usage as well, `over` by its last word. */
export type StreamProgress = 'running' | 'ended' | 'complete' | 'over'

/** Says how far an answer has come with the data of an event. */
type ProgressReader = (data: string) => StreamProgress

/** How long more may come after an answer is complete. */
const SILENCE_MS = 1000

/**
 * Reads the frames of a stream; those of one network read are yielded together. An answer that has ended stays whole, whatever
 * the connection does then. Throws where there is no frame.
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

/** Watches a text that comes in pieces for the end of the stream that it may be, though none was asked for. */
export function createEndWatch(start: () => (event: StreamEvent) => StreamProgress): EndDetector {
  let watch: EndDetector | undefined
  return (piece) => {
    if (!watch && piece.trim() !== '') watch = /^\s*[:a-z]/.test(piece) ? watchStream(start()) : () => undefined
    return watch?.(piece)
  }
}

function watchStream(progressAt: (event: StreamEvent) => StreamProgress): EndDetector {
  const parser = new EventParser()
  let progress: StreamProgress = 'running'
  return (piece) => {
    for (const event of parser.feed(piece)) progress = progress === 'over' ? progress : progressAt(event)
    return remainingWaits[progress]
  }
}

/** How long more of an answer may come, by how far it has come. */
const remainingWaits: Record<StreamProgress, number | undefined> = {
  running: undefined,
  ended: Infinity,
  complete: SILENCE_MS,
  over: 0,
}

/** Reads the frames of a text that has come as a whole, or the document that it is. */
export function parseEvents(text: string): readonly StreamEvent[] {
  if (/^\s*[[{]/.test(text)) return [{ data: text, isDocument: true }]
  const parser = new EventParser()
  return cutAfterDone([...parser.feed(text), ...parser.end()])
}

/** What comes after the last word is none of the answer. */
export function cutAfterDone(events: readonly StreamEvent[]): readonly StreamEvent[] {
  const end = events.findIndex(({ data }) => data === DONE)
  return end === -1 ? events : events.slice(0, end + 1)
}

const END = { done: true, value: undefined } as const

type Chunk = IteratorResult<Uint8Array, undefined>

/** Waits for what comes next: of an answer that has ended it may be nothing, or an error. */
function readNextChunk(chunks: AsyncIterator<Uint8Array>, progress: StreamProgress): Promise<Chunk> {
  const next = chunks.next() as Promise<Chunk>
  if (progress === 'running') return next
  if (progress === 'ended') return next.catch(() => END)
  const silence = Promise.withResolvers<typeof END>()
  const timer = setTimeout(() => silence.resolve(END), SILENCE_MS)
  return Promise.race([next.catch(() => END), silence.promise]).finally(() => clearTimeout(timer))
}

/** Gives the server a while to end by itself, so that its connection can be used again. */
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

/** Finds the frames in a text that comes in pieces, and passes over those that carry no JSON. */
class EventParser {
  #events: StreamEvent[] = []
  /** What came before the first frame: a document, a page, or what is left of one. */
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

  /** The last frame may have no blank line behind it, or be cut. Throws where nothing was a frame. */
  end(): readonly StreamEvent[] {
    this.#isEnding = true
    const rest = this.#takeEvents('\n\n')
    if (this.#unparsed === undefined) return rest
    const document = this.#unparsed.trim()
    const value = tryParseJson(document)
    if (typeof value !== 'object' || value === null) throw toMissingStreamError(this.#unparsed)
    return [{ data: document, isDocument: true }]
  }

  /** The error of a connection, with what came of an answer that has no frame. */
  toReadError(error: unknown): unknown {
    return this.#unparsed === undefined || this.#isEnding ? error : toUnparsableError(error, this.#unparsed)
  }
}

/** Some servers send words to keep a connection alive, `null`, or several objects as lines of one event. */
function splitJson(data: string): string[] {
  const text = data.trim()
  if (text === DONE) return [DONE]
  if (!/^[[{]/.test(text)) return []
  const lines = text.includes('\n') ? text.split('\n').map((line) => line.trim()) : []
  const areObjects = lines.length > 1 && lines.every((line) => line === DONE || /^\{.*\}$/.test(line))
  return areObjects ? lines : [text]
}

const isJson = (text: string) => text === DONE || tryParseJson(text) !== undefined

/** What chat completions end with. */
export const DONE = '[DONE]'

/** How the streams of a protocol end. */
export interface StreamEnding {
  progressAt: ProgressReader
  /** The event without which the library does not read the end. */
  lastEvent?: StreamEvent
}

type Event = Readonly<Record<string, unknown>>

/** An event is parsed only where it has the words of an end in it. */
const createProgressReader =
  (pattern: RegExp, progressOf: (event: Event) => StreamProgress): ProgressReader =>
  (data) => {
    if (data === DONE) return 'over'
    const event = pattern.test(data) ? tryParseJson(data) : undefined
    return typeof event === 'object' && event !== null ? progressOf(event as Event) : 'running'
  }

const responseEnds = new Set<unknown>(['response.completed', 'response.incomplete', 'response.failed'])

/** OpenAI's responses end with one of several events. */
export const openaiStreamEnding: StreamEnding = {
  progressAt: createProgressReader(/"response\.(completed|incomplete|failed)"/, ({ type }) =>
    responseEnds.has(type) ? 'over' : 'running',
  ),
}

/** Anthropic tells the reason and the usage before its last event. */
export const anthropicStreamEnding: StreamEnding = {
  progressAt: createProgressReader(/"(message_stop|stop_reason)"/, ({ type, delta }) => {
    if (type === 'message_stop') return 'over'
    const { stop_reason: reason } = (delta ?? {}) as { stop_reason?: unknown }
    return type === 'message_delta' && reason ? 'complete' : 'running'
  }),
  lastEvent: { event: 'message_stop', data: '{"type":"message_stop"}' },
}

/** Google has no last event. */
export const googleStreamEnding: StreamEnding = {
  progressAt: createProgressReader(/"finishReason"/, ({ candidates, usageMetadata }) => {
    const [candidate] = Array.isArray(candidates) ? candidates : []
    if (!candidate?.finishReason) return 'running'
    return usageMetadata ? 'complete' : 'ended'
  }),
}
