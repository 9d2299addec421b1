import { createParser } from 'eventsource-parser'
import { z } from 'zod'
import type { ToolProgress } from '../../routers/ports/ai/tool-servers.ts'
import { tryParseJson } from '../../routers/ports/json.ts'
import { removeTags } from './hidden-text.ts'
import { isEventStream } from './resumed-response.ts'

/** Limits of what one call may report. */
const MAX_REPORTS = 1000
const MAX_MESSAGE = 1000

const METHOD = 'notifications/progress'
/** The token of the only call of a session. */
const TOKEN = 'svc-call'

const notification = z.object({
  method: z.literal(METHOD),
  params: z.object({
    progressToken: z.literal(TOKEN),
    progress: z.number(),
    total: z.number().optional().catch(undefined),
    message: z.string().optional().catch(undefined),
  }),
})

/** Reads the progress that a server reports of the only call of a session. */
export class ProgressReports {
  readonly #report: (progress: ToolProgress) => void
  #count = 0
  #latest = Number.NEGATIVE_INFINITY

  constructor(report: (progress: ToolProgress) => void) {
    this.#report = report
  }

  /** Returns the message, which asks for reports if it is a call of a tool. */
  addToken<Message extends object>(message: Message): Message {
    const { method, params } = message as { method?: unknown; params?: { _meta?: object } }
    if (method !== 'tools/call') return message
    return { ...message, params: { ...params, _meta: { ...params?._meta, progressToken: TOKEN } } }
  }

  /** Reports what a message of the server says, if it goes on from the last report. Other messages are ignored. */
  read(message: unknown): void {
    const { data } = notification.safeParse(message)
    if (!data || data.params.progress <= this.#latest || this.#count === MAX_REPORTS) return
    const { progress, total, message: text } = data.params
    this.#count++
    this.#latest = progress
    this.#report({
      progress,
      ...(total !== undefined && { total }),
      ...(text !== undefined && { message: removeTags(text).slice(0, MAX_MESSAGE).toWellFormed() }),
    })
  }

  /** Returns a `fetch` whose calls ask for reports, which are read from streams of events as they pass. */
  wrapFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
    return async (input, init = {}) => {
      const { body } = init
      const asking = typeof body === 'string' ? JSON.stringify(this.addToken(JSON.parse(body))) : body
      const response = await fetch(input, { ...init, ...(asking != null && { body: asking }) })
      return isEventStream(response) ? this.#readEvents(response) : response
    }
  }

  #readEvents({ body, status, headers }: Response): Response {
    const parser = createParser({ onEvent: ({ data }) => this.#readData(data) })
    const decoder = new TextDecoder()
    const passed = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        parser.feed(decoder.decode(chunk, { stream: true }))
        controller.enqueue(chunk)
      },
    })
    return new Response((body as ReadableStream<Uint8Array>).pipeThrough(passed), { status, headers })
  }

  #readData(data: string): void {
    // A result may be long, and is parsed by its reader.
    if (data.includes(METHOD) && data.length <= MAX_DATA) this.read(tryParseJson(data))
  }
}

/** Longer than any report that is worth reading, in UTF-16 code units. */
const MAX_DATA = 64 * 1024
