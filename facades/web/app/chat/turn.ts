import { useSyncExternalStore } from 'react'
import { SvcError } from '../../../client/index.ts'
import { type Answer, emptyAnswer } from '../shared/answer/answer.ts'
import { AnswerBuilder } from '../shared/answer/answer-builder.ts'
import { type AiRequest, api, type StoredMessage } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { type OpenedMessage, serializeAnswer } from './message-content.ts'
import { putMessageInCache } from './messages.ts'

/** How often what has come is shown; more often costs a browser much and tells a reader nothing. */
const SHOW_MS = 100
/** How often what has come is stored, so that a closed tab loses no more. */
const STORE_MS = 5000

/** An answer that is being written, or that has failed. */
export interface Turn {
  /** The model that answers. */
  model: string
  answer: Answer
  phase: 'waiting' | 'answering' | 'storing' | 'failed'
  error?: unknown
  /** The number of the question that it answers. */
  parent: number
}

export interface TurnRequest {
  slug: string
  key: ConversationKey
  request: AiRequest
  /** The number of the question. */
  parent: number
  /** The answer that is gone on with, where one was cut. */
  partialAnswer?: OpenedMessage | undefined
}

/** The answers under way, by conversation. They go on while another conversation is shown. */
class TurnStore {
  readonly #turns = new Map<string, Turn>()
  readonly #controllers = new Map<string, AbortController>()
  readonly #listeners = new Set<() => void>()

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  find(slug: string): Turn | undefined {
    return this.#turns.get(slug)
  }

  isAnswering(slug: string): boolean {
    return this.#controllers.has(slug)
  }

  stop(slug: string): void {
    this.#controllers.get(slug)?.abort()
  }

  forget(slug: string): void {
    this.#set(slug, undefined)
  }

  /** Asks the model and stores its answer; whatever comes before an error or a stop is stored, too. */
  async run({ slug, key, request, parent, partialAnswer: begun }: TurnRequest): Promise<void> {
    const controller = new AbortController()
    this.#controllers.set(slug, controller)
    const writer = new AnswerWriter({ slug, key, model: request.model, parent, number: begun?.number })
    const builder = new AnswerBuilder(begun?.answer)
    const turn = { model: request.model, parent }
    this.#set(slug, { ...turn, answer: builder.answer, phase: 'waiting' })
    const failure = await readStream(request, controller.signal, builder, (answer) => {
      this.#set(slug, { ...turn, answer, phase: 'answering' })
      writer.storeOccasionally(answer)
    })
    const { answer } = builder
    try {
      this.#set(slug, { ...turn, answer, phase: 'storing' })
      if (!isEmpty(answer)) await writer.finish(answer)
      this.#set(slug, failure && { ...turn, answer: emptyAnswer, phase: 'failed', error: failure })
    } catch (error) {
      this.#set(slug, { ...turn, answer, phase: 'failed', error })
    } finally {
      this.#controllers.delete(slug)
      this.#tell()
    }
  }

  #set(slug: string, turn: Turn | undefined): void {
    if (turn) this.#turns.set(slug, turn)
    else this.#turns.delete(slug)
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}

const isEmpty = ({ text, thoughts, tools }: Answer) => text === '' && thoughts.length === 0 && tools.length === 0

interface AnswerTarget {
  slug: string
  key: ConversationKey
  model: string
  parent: number
  /** Of the stored message, where there is one already. */
  number: string | undefined
}

/** Stores an answer while it is written, and at its end. */
class AnswerWriter {
  readonly #target: AnswerTarget
  #writing: Promise<unknown> = Promise.resolve()
  #number: string | undefined
  #storedAt = Date.now()
  #isBusy = false

  constructor(target: AnswerTarget) {
    this.#target = target
    this.#number = target.number
  }

  /** Stores what there is now and then; a failure is no reason to end the answer, which is stored once more at its end. */
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

  /** One after the other: the first one says which message the others change. */
  #write(answer: Answer, isComplete: boolean): Promise<StoredMessage> {
    const written = this.#writing.then(
      () => this.#store(answer, isComplete),
      () => this.#store(answer, isComplete),
    )
    this.#writing = written
    return written
  }

  async #store(answer: Answer, isComplete: boolean): Promise<StoredMessage> {
    const { slug, key, model, parent } = this.#target
    const content = await key.seal(serializeAnswer(answer))
    if (this.#number !== undefined)
      return api.conversations.updateMessage.mutate({ slug, number: this.#number, content, isComplete })
    const message = { slug, role: 'assistant' as const, model, content, isComplete, parent }
    const stored = await api.conversations.sendMessage.mutate(message)
    this.#number = stored.number
    return stored
  }
}

/** Reads an answer and shows it now and then. Returns why it ended too early, unless it was stopped. */
async function readStream(
  request: AiRequest,
  signal: AbortSignal,
  builder: AnswerBuilder,
  show: (answer: Answer) => void,
): Promise<Error | undefined> {
  try {
    let shownAt = 0
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

export const turns = new TurnStore()

/** The answer under way in a conversation. */
export const useTurn = (slug: string | undefined): Turn | undefined =>
  useSyncExternalStore(turns.subscribe, () => (slug === undefined ? undefined : turns.find(slug)))
