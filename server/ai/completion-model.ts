import type { Readable } from 'node:stream'
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { OutboundRequest } from '../net/http-client.ts'
import { openAnswer, readAnswer } from './answers.ts'
import type { ChatModel, ModelConnection } from './chat-model.ts'
import { CompletionParts } from './completion-parts.ts'
import { unread } from './failures/unread.ts'
import { asFirstError, type Part, type PartBatch } from './provider-stream.ts'
import { contentOf } from './whole-answer.ts'
import { DONE, type Frame, framesOf, type Progress, readFrames, untilDone, watchEnd } from './wire/event-frames.ts'

export interface CompletionRequest extends OutboundRequest {
  url: string
}

/** Writes the request for an answer. */
export type CompletionWriter = (options: LanguageModelV4CallOptions, isStream: boolean) => Promise<CompletionRequest>

/**
 * A model that speaks chat completions: an SDK writes the request, and what the server makes of its answer is read here, the
 * same for each SDK, whole and streamed. Their own readers refuse what servers of this kind send, and their chains of web
 * streams take longer for a stream than all the rest of a call.
 */
export class CompletionModel implements ChatModel {
  readonly #connection: ModelConnection
  readonly #write: CompletionWriter

  constructor(connection: ModelConnection, write: CompletionWriter) {
    this.#connection = connection
    this.#write = write
  }

  async doGenerate(options: LanguageModelV4CallOptions) {
    const { url, ...request } = await this.#write(options, false)
    const { body } = await readAnswer(this.#connection, url, request, watchEnd(startWatching))
    try {
      return readWhole(body)
    } catch (error) {
      throw unread(error, body)
    }
  }

  async doStream(options: LanguageModelV4CallOptions) {
    const { url, ...request } = await this.#write(options, true)
    const { body } = await openAnswer(this.#connection, url, request)
    return { stream: partsOf(body) }
  }
}

/** Says with each frame how far the answer has come. */
function startWatching() {
  const parts = new CompletionParts()
  return (frame: Frame): Progress => {
    read(parts, frame)
    return frame.data === DONE ? 'over' : parts.progress
  }
}

/** Reads an answer that has come as a whole: a document, or a stream in place of one. */
function readWhole(text: string) {
  const parts = new CompletionParts()
  const said = framesOf(text).flatMap((frame) => read(parts, frame))
  const failure = said.find((part) => part.type === 'error')
  if (failure) throw asFirstError(failure.error)
  const { calls, ...end } = parts.end()
  return { content: [...contentOf(said), ...calls], ...end }
}

/** Yields text as it comes, and the rest at the end. */
async function* partsOf(body: Readable): AsyncGenerator<PartBatch, void> {
  const parts = new CompletionParts()
  let isDone = false
  let document: string | undefined
  const progress = (): Progress => (isDone ? 'over' : parts.progress)
  for await (const frames of readFrames(body, progress)) {
    const known = untilDone(frames)
    isDone = known.at(-1)?.data === DONE
    document = frames.find(({ isDocument }) => isDocument)?.data
    yield known.flatMap((frame) => read(parts, frame))
  }
  try {
    const { calls, ...end } = parts.end()
    yield [...calls, { type: 'finish', ...end }]
  } catch (error) {
    throw document === undefined ? error : unread(error, document)
  }
}

function read(parts: CompletionParts, { data }: Frame): Part[] {
  if (data === DONE) return []
  try {
    return parts.read(JSON.parse(data))
  } catch (error) {
    // Events before the broken one in the same packet are still delivered.
    return [{ type: 'error', error }]
  }
}
