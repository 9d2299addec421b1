import { parsed } from '../../../routers/ports/ai/tool-calls.ts'
import { DONE, type Frame, type Progress, type ProgressReader } from './event-frames.ts'

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
    const event = words.test(data) ? parsed(data) : undefined
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
