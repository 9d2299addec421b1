import { useSyncExternalStore } from 'react'
import { SvcError } from '../../../client/index.ts'
import { type AiRequest, api, type StoredMessage } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/crypto/conversation-key.ts'
import { AnswerBuilder } from './answer-builder.ts'
import { type Answer, emptyAnswer, writeAnswer } from './message-content.ts'
import { keepMessage } from './messages.ts'

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
  /** The stored part of the answer. */
  number?: string | undefined
}

export interface TurnRequest {
  slug: string
  key: ConversationKey
  request: AiRequest
}

/** The answers under way, by conversation. They go on while another conversation is shown. */
class Turns {
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
  async run({ slug, key, request }: TurnRequest): Promise<void> {
    const controller = new AbortController()
    this.#controllers.set(slug, controller)
    const writer = new AnswerWriter(slug, key, request.model)
    const builder = new AnswerBuilder()
    let error: unknown
    this.#set(slug, { model: request.model, answer: emptyAnswer, phase: 'waiting' })
    try {
      let shownAt = 0
      for await (const part of await api.ai.completeStream.mutate(request, { signal: controller.signal })) {
        builder.add(part)
        if (Date.now() - shownAt < SHOW_MS) continue
        shownAt = Date.now()
        this.#show(slug, request.model, builder.answer)
        writer.keep(builder.answer)
      }
    } catch (thrown) {
      error = thrown
      builder.interrupt(controller.signal.aborted ? 'stopped' : 'interrupted')
    }
    const failure = controller.signal.aborted ? undefined : error
    await this.#finish(slug, writer, { model: request.model, answer: builder.answer, failure })
  }

  async #finish(
    slug: string,
    writer: AnswerWriter,
    { model, answer, failure }: { model: string; answer: Answer; failure: unknown },
  ): Promise<void> {
    try {
      this.#set(slug, { model, answer, phase: 'storing' })
      if (!isEmpty(answer)) await writer.finish(answer)
      this.#set(
        slug,
        failure === undefined ? undefined : { model, answer: emptyAnswer, phase: 'failed', error: failure },
      )
    } catch (error) {
      this.#set(slug, { model, answer, phase: 'failed', error })
    } finally {
      this.#controllers.delete(slug)
      this.#tell()
    }
  }

  #show(slug: string, model: string, answer: Answer): void {
    this.#set(slug, { model, answer, phase: 'answering' })
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

/** Stores an answer while it is written, and at its end. */
class AnswerWriter {
  readonly #slug: string
  readonly #key: ConversationKey
  readonly #model: string
  #writing: Promise<StoredMessage | undefined> = Promise.resolve(undefined)
  #storedAt = Date.now()
  #isBusy = false

  constructor(slug: string, key: ConversationKey, model: string) {
    this.#slug = slug
    this.#key = key
    this.#model = model
  }

  /** Stores what there is now and then; a failure is no reason to end the answer, which is stored once more at its end. */
  keep(answer: Answer): void {
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
    const stored = await this.#write(answer, answer.cut === undefined)
    if (stored) await keepMessage(this.#key, this.#slug, stored)
  }

  #write(answer: Answer, isComplete: boolean): Promise<StoredMessage | undefined> {
    const before = this.#writing.catch(() => undefined)
    this.#writing = before.then(async (stored) => {
      const content = await this.#key.seal(writeAnswer(answer))
      const slug = this.#slug
      if (stored) return api.conversations.updateMessage.mutate({ slug, number: stored.number, content, isComplete })
      return api.conversations.sendMessage.mutate({ slug, role: 'assistant', model: this.#model, content, isComplete })
    })
    return this.#writing
  }
}

export const turns = new Turns()

/** The answer under way in a conversation. */
export const useTurn = (slug: string | undefined): Turn | undefined =>
  useSyncExternalStore(turns.subscribe, () => (slug === undefined ? undefined : turns.find(slug)))
