import { useSyncExternalStore } from 'react'
import { SvcError } from '../../../client/index.ts'
import { type AiRequest, api, type StoredMessage } from '../shared/api/client.ts'
import { type Answer, emptyAnswer } from '../shared/conversation/answer.ts'
import { AnswerBuilder } from '../shared/conversation/answer-builder.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { Listeners } from '../shared/listeners.ts'
import { type OpenedMessage, readNumber, serializeAnswer } from './message-content.ts'
import { putMessageInCache, updateMessage } from './messages.ts'

/** Milliseconds between two renderings of a streaming answer. */
const SHOW_MS = 100
/** Milliseconds between two saves of a streaming answer, so that a closed tab loses little. */
const STORE_MS = 5000

/** An answer that is streaming or has failed. */
export interface Turn {
  model: string
  answer: Answer
  phase: 'waiting' | 'answering' | 'storing' | 'failed'
  error?: unknown
  /** The number of the question. */
  parent: number
}

export interface TurnRequest {
  slug: string
  key: ConversationKey
  modelId: string
  /** The number of the question. */
  parent: number
  /** The answer to continue, if there is one. */
  partialAnswer?: OpenedMessage | undefined
  readRequest: (signal: AbortSignal) => Promise<AiRequest>
}

/** The streaming answers by conversation. They continue while another conversation is shown. */
class TurnStore {
  readonly #turns = new Map<string, Turn>()
  readonly #controllers = new Map<string, AbortController>()
  readonly #listeners = new Listeners()

  readonly subscribe = this.#listeners.subscribe

  find(slug: string): Turn | undefined {
    return this.#turns.get(slug)
  }

  isAnswering(slug: string): boolean {
    return this.#controllers.has(slug)
  }

  stop(slug: string): void {
    this.#controllers.get(slug)?.abort()
  }

  /**
   * Requests an answer and stores it. What has arrived before an error or a stop is stored as well. An answer that still
   * streams into the conversation is stopped.
   */
  async run({ slug, key, modelId: model, readRequest, parent, partialAnswer }: TurnRequest): Promise<void> {
    this.stop(slug)
    const controller = new AbortController()
    this.#controllers.set(slug, controller)
    const isCurrent = () => this.#controllers.get(slug) === controller
    const show = (changes: Pick<Turn, 'answer' | 'phase' | 'error'> | undefined) => {
      if (isCurrent()) this.#set(slug, changes && { model, parent, ...changes })
    }
    const writer = new AnswerWriter({ slug, key, model, parent, number: partialAnswer?.number })
    const builder = new AnswerBuilder(partialAnswer?.answer)
    show({ answer: builder.answer, phase: 'waiting' })
    const failure = await readStream(readRequest, controller.signal, builder, (answer) => {
      show({ answer, phase: 'answering' })
      writer.storeOccasionally(answer)
    })
    const { answer } = builder
    try {
      show({ answer, phase: 'storing' })
      if (!isEmpty(answer)) await writer.finish(answer)
      show(failure && { answer: emptyAnswer, phase: 'failed', error: failure })
    } catch (error) {
      show({ answer, phase: 'failed', error })
    } finally {
      if (isCurrent()) this.#controllers.delete(slug)
      this.#listeners.notify()
    }
  }

  #set(slug: string, turn: Turn | undefined): void {
    if (turn) this.#turns.set(slug, turn)
    else this.#turns.delete(slug)
    this.#listeners.notify()
  }
}

const isEmpty = ({ text, thoughts, tools }: Answer) => text === '' && thoughts.length === 0 && tools.length === 0

interface AnswerTarget {
  slug: string
  key: ConversationKey
  model: string
  parent: number
  /** The number of the stored message, if there is one already. */
  number: number | undefined
}

/** Stores an answer while it streams and at its end. */
class AnswerWriter {
  readonly #target: AnswerTarget
  #lastWrite: Promise<unknown> = Promise.resolve()
  #number: number | undefined
  #storedAt = Date.now()
  #isBusy = false

  constructor(target: AnswerTarget) {
    this.#target = target
    this.#number = target.number
  }

  /** Stores the answer every few seconds. A failure is ignored, as the answer is stored again at its end. */
  storeOccasionally(answer: Answer): void {
    if (this.#isBusy || Date.now() - this.#storedAt < STORE_MS) return
    this.#isBusy = true
    void this.#write({ ...answer, cut: 'interrupted' }, false)
      .catch((error: unknown) => {
        if (!(error instanceof SvcError)) throw error
      })
      .finally(() => {
        this.#isBusy = false
        this.#storedAt = Date.now()
      })
  }

  async finish(answer: Answer): Promise<void> {
    const { key, slug } = this.#target
    await putMessageInCache(key, slug, await this.#write(answer, answer.cut === undefined))
  }

  /** Stores one version after the other, as the first call returns the number that the others update. */
  #write(answer: Answer, isComplete: boolean): Promise<StoredMessage> {
    const write = this.#lastWrite.then(
      () => this.#store(answer, isComplete),
      () => this.#store(answer, isComplete),
    )
    this.#lastWrite = write
    return write
  }

  async #store(answer: Answer, isComplete: boolean): Promise<StoredMessage> {
    const { slug, key, model, parent } = this.#target
    const content = await key.seal(serializeAnswer(answer))
    if (this.#number !== undefined) return updateMessage({ slug, number: this.#number, content, isComplete })
    const message = { slug, role: 'assistant' as const, model, content, isComplete, parent }
    const stored = await api.conversations.sendMessage.mutate(message)
    this.#number = readNumber(stored.number)
    return stored
  }
}

/**
 * Reads the stream and shows the answer a few times a second. Returns the error that ended it, unless it was stopped.
 */
async function readStream(
  readRequest: (signal: AbortSignal) => Promise<AiRequest>,
  signal: AbortSignal,
  builder: AnswerBuilder,
  show: (answer: Answer) => void,
): Promise<Error | undefined> {
  try {
    let shownAt = 0
    const request = await Promise.race([readRequest(signal), rejectOnAbort(signal)])
    for await (const part of await api.ai.completeStream.mutate(request, { signal })) {
      builder.add(part)
      if (Date.now() - shownAt < SHOW_MS && part.type !== 'approval') continue
      shownAt = Date.now()
      show(builder.answer)
    }
    return undefined
  } catch (error) {
    builder.interrupt(signal.aborted ? 'stopped' : 'interrupted')
    return signal.aborted ? undefined : (error as Error)
  }
}

const rejectOnAbort = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

export const turns = new TurnStore()

/** Returns the streaming answer of a conversation. */
export const useTurn = (slug: string): Turn | undefined => useSyncExternalStore(turns.subscribe, () => turns.find(slug))
