import type { Readable } from 'node:stream'
import { createParser } from 'eventsource-parser'
import { tryParseJson } from '../../routers/ports/ai/tool-calls.ts'
import type { EndDetector } from '../net/response-handler.ts'
import { noStream, toUnparsable } from './provider-errors.ts'

/** A server-sent event that carries JSON. */
export interface Frame {
  event?: string | undefined
  data: string
  /** Whether it is all of the answer, which came as one document in place of a stream. */
  isDocument?: true
}

/** How far a streamed answer has come: `ended` by its reason, `complete` with its usage as well, `over` by its last word. */
export type Progress = 'running' | 'ended' | 'complete' | 'over'

/** Says how far an answer has come with the data of an event. */
type ProgressReader = (data: string) => Progress

/** How long more may come after an answer is complete. */
const SILENCE_MS = 1000

/**
 * Reads the frames of a stream; those of one network read are yielded together. An answer that has ended stays whole, whatever
 * the connection does then. Throws where there is no frame.
 */
export async function* readFrames(body: Readable, progress: () => Progress): AsyncGenerator<readonly Frame[], void> {
  const decoder = new TextDecoder()
  const parser = new FrameParser()
  const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]()
  let isRead = false
  try {
    while (progress() !== 'over') {
      const step = await nextChunk(chunks, progress())
      const frames = parser.feed(decoder.decode(step.value, { stream: !step.done }))
      if (frames.length > 0) yield frames
      if (step.done) break
    }
    if (progress() !== 'over') yield parser.end()
    isRead = true
  } catch (error) {
    throw parser.failed(error)
  } finally {
    if (isRead) drain(body, chunks)
    else body.destroy()
  }
}

/** Watches a text that comes in pieces for the end of the stream that it may be, though none was asked for. */
export function watchEnd(start: () => (frame: Frame) => Progress): EndDetector {
  let watch: EndDetector | undefined
  return (piece) => {
    if (!watch && piece.trim() !== '') watch = /^\s*[:a-z]/.test(piece) ? watchStream(start()) : () => undefined
    return watch?.(piece)
  }
}

function watchStream(progressAt: (frame: Frame) => Progress): EndDetector {
  const parser = new FrameParser()
  let progress: Progress = 'running'
  return (piece) => {
    for (const frame of parser.feed(piece)) progress = progress === 'over' ? progress : progressAt(frame)
    return waits[progress]
  }
}

/** How long more of an answer may come, by how far it has come. */
const waits: Record<Progress, number | undefined> = {
  running: undefined,
  ended: Infinity,
  complete: SILENCE_MS,
  over: 0,
}

/** Reads the frames of a text that has come as a whole, or the document that it is. */
export function parseFrames(text: string): readonly Frame[] {
  if (/^\s*[[{]/.test(text)) return [{ data: text, isDocument: true }]
  const parser = new FrameParser()
  return untilDone([...parser.feed(text), ...parser.end()])
}

/** What comes after the last word is none of the answer. */
export function untilDone(frames: readonly Frame[]): readonly Frame[] {
  const end = frames.findIndex(({ data }) => data === DONE)
  return end === -1 ? frames : frames.slice(0, end + 1)
}

const END = { done: true, value: undefined } as const

type Chunk = IteratorResult<Uint8Array, undefined>

/** Waits for what comes next: of an answer that has ended it may be nothing, or an error. */
function nextChunk(chunks: AsyncIterator<Uint8Array>, progress: Progress): Promise<Chunk> {
  const next = chunks.next() as Promise<Chunk>
  if (progress === 'running') return next
  if (progress === 'ended') return next.catch(() => END)
  const silence = Promise.withResolvers<typeof END>()
  const timer = setTimeout(() => silence.resolve(END), SILENCE_MS)
  return Promise.race([next.catch(() => END), silence.promise]).finally(() => clearTimeout(timer))
}

/** Gives the server a while to end by itself, so that its connection can be used again. */
function drain(body: Readable, chunks: AsyncIterator<Uint8Array>): void {
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
class FrameParser {
  #frames: Frame[] = []
  /** What came before the first frame: a document, a page, or what is left of one. */
  #before: string | undefined = ''
  #isEnding = false
  readonly #parser = createParser({
    onEvent: ({ event, data }) => {
      if (data.startsWith('{') && !this.#isEnding && !data.includes('\n')) {
        this.#before = undefined
        this.#frames.push({ event, data })
        return
      }
      const found = jsonIn(data).filter((json) => !this.#isEnding || isJson(json))
      if (found.length === 0) return
      this.#before = undefined
      this.#frames.push(...found.map((data) => ({ event, data })))
    },
  })

  feed(text: string): readonly Frame[] {
    if (this.#before !== undefined) this.#before += text
    return this.#framesIn(text)
  }

  #framesIn(text: string): readonly Frame[] {
    this.#parser.feed(text)
    const frames = this.#frames
    this.#frames = []
    return frames
  }

  /** The last frame may have no blank line behind it, or be cut. Throws where nothing was a frame. */
  end(): readonly Frame[] {
    this.#isEnding = true
    const rest = this.#framesIn('\n\n')
    if (this.#before === undefined) return rest
    const document = this.#before.trim()
    const value = tryParseJson(document)
    if (typeof value !== 'object' || value === null) throw noStream(this.#before)
    return [{ data: document, isDocument: true }]
  }

  /** The error of a connection, with what came of an answer that has no frame. */
  failed(error: unknown): unknown {
    return this.#before === undefined || this.#isEnding ? error : toUnparsable(error, this.#before)
  }
}

/** Some servers send words to keep a connection alive, `null`, or several objects as lines of one event. */
function jsonIn(data: string): string[] {
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
export interface StreamEnd {
  progressAt: ProgressReader
  /** The event without which the library does not read the end. */
  lastEvent?: Frame
}

type Event = Readonly<Record<string, unknown>>

/** An event is parsed only where it has the words of an end in it. */
const reader =
  (words: RegExp, progressOf: (event: Event) => Progress): ProgressReader =>
  (data) => {
    if (data === DONE) return 'over'
    const event = words.test(data) ? tryParseJson(data) : undefined
    return typeof event === 'object' && event !== null ? progressOf(event as Event) : 'running'
  }

const responseEnds = new Set<unknown>(['response.completed', 'response.incomplete', 'response.failed'])

/** OpenAI's responses end with one of several events. */
export const responseEnd: StreamEnd = {
  progressAt: reader(/"response\.(completed|incomplete|failed)"/, ({ type }) =>
    responseEnds.has(type) ? 'over' : 'running',
  ),
}

/** Anthropic tells the reason and the usage before its last event. */
export const messageEnd: StreamEnd = {
  progressAt: reader(/"(message_stop|stop_reason)"/, ({ type, delta }) => {
    if (type === 'message_stop') return 'over'
    const { stop_reason: reason } = (delta ?? {}) as { stop_reason?: unknown }
    return type === 'message_delta' && reason ? 'complete' : 'running'
  }),
  lastEvent: { event: 'message_stop', data: '{"type":"message_stop"}' },
}

/** Google has no last event. */
export const contentEnd: StreamEnd = {
  progressAt: reader(/"finishReason"/, ({ candidates, usageMetadata }) => {
    const [candidate] = Array.isArray(candidates) ? candidates : []
    if (!candidate?.finishReason) return 'running'
    return usageMetadata ? 'complete' : 'ended'
  }),
}
