import { useSyncExternalStore } from 'react'
import { api } from '../shared/api/client.ts'
import { describeError, InputError } from '../shared/api/error-text.ts'
import type { AiRequest } from '../shared/api/types.ts'
import { guardClosing } from '../shared/closing-guard.ts'
import { type Answer, type Comparison, emptyAnswer, type Side } from '../shared/conversation/answer.ts'
import { AnswerBuilder } from '../shared/conversation/answer-builder.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { Listeners } from '../shared/listeners.ts'
import { t } from '../shared/text/labels.ts'
import { AnswerWriter } from './answer-writer.ts'
import type { OpenedMessage } from './message-content.ts'
import { recordReason, type UnansweredQuestion, untilOpen } from './unanswered.ts'

/** Milliseconds between two renderings of a streaming answer. */
const SHOW_MS = 100

/** An answer that is streaming, has failed, or has come and cannot be stored for now. */
export interface Turn {
  model: string
  answer: Answer
  phase: 'waiting' | 'answering' | 'storing' | 'unsaved' | 'failed'
  error?: unknown
  /** The number of the question. */
  parent: number
  /** Present if the answer stands beside that of another model. */
  comparison?: Comparison | undefined
}

export interface TurnRequest {
  slug: string
  key: ConversationKey
  modelId: string
  /** The number of the question. */
  parent: number
  /** The answer to continue, if there is one. */
  partialAnswer?: OpenedMessage | undefined
  comparison?: Comparison | undefined
  readRequest: (signal: AbortSignal) => Promise<AiRequest>
}

/** Returns true while nothing of an answer will come, so that the person has to do something. */
export const isHalted = ({ phase }: Turn): boolean => phase === 'failed' || phase === 'unsaved'

/** Returns true while an answer is requested, comes, or is being stored. */
export const isStreaming = (turn: Turn | undefined): turn is Turn => turn !== undefined && !isHalted(turn)

/** How an answer ended, and the number of its message if it is stored. */
export interface TurnEnd {
  outcome: 'complete' | 'stopped' | 'failed'
  number: number | undefined
}

type TurnProgress = Pick<Turn, 'answer' | 'phase' | 'error'>

/** An answer that is requested, and then stored. */
class RunningTurn {
  readonly writer: AnswerWriter
  readonly #request: TurnRequest
  readonly #question: UnansweredQuestion
  readonly #show: (progress: TurnProgress | undefined) => void
  readonly #builder: AnswerBuilder
  readonly #streaming = new AbortController()
  readonly #storing = new AbortController()
  #hasStreamed = false
  #hasEnded = false

  constructor(request: TurnRequest, show: (progress: TurnProgress | undefined) => void) {
    const { slug, key, modelId: model, parent, partialAnswer, comparison } = request
    this.#request = request
    this.#show = show
    const side = comparison?.side
    this.#question = { slug, parent, side }
    this.writer = new AnswerWriter({ slug, key, model, parent, number: partialAnswer?.number, comparison })
    this.#builder = new AnswerBuilder(partialAnswer?.answer ?? { ...emptyAnswer, ...(comparison && { comparison }) })
  }

  /** Ends the stream, or gives up storing what has come. */
  stop(): void {
    const controller = this.#hasStreamed ? this.#storing : this.#streaming
    controller.abort()
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  async run(): Promise<TurnEnd> {
    const { partialAnswer, readRequest } = this.#request
    if (!partialAnswer) recordReason(this.#question, t('app.unanswered.closed'))
    this.#show({ answer: this.#builder.answer, phase: 'waiting' })
    const failure = await readStream(readRequest, this.#streaming.signal, this.#builder, (answer) => {
      this.#show({ answer, phase: 'answering' })
      this.writer.storeOccasionally(answer)
    })
    // A closing page ends the stream first, and then stores what has come.
    await untilOpen()
    this.#hasStreamed = true
    const outcome = await this.#store(failure ?? explainEmptyAnswer(this.#builder.answer))
    return { outcome, number: this.writer.number }
  }

  /** Stores what has come, and shows the failure that ended it. */
  async #store(failure: Error | undefined): Promise<TurnEnd['outcome']> {
    const { answer } = this.#builder
    const { signal } = this.#storing
    const report = (error: unknown) => this.#show({ answer, phase: 'unsaved', error })
    // Without a failure an answer is empty only if the person stopped it.
    recordReason(this.#question, failure ? describeError(failure) : t('app.unanswered.stopped'))
    try {
      this.#show({ answer, phase: 'storing' })
      if (!isEmpty(answer)) await this.writer.finish(answer, signal, failure ? undefined : report)
      this.#end(failure && { answer: emptyAnswer, phase: 'failed', error: failure })
      return failure ? 'failed' : findOutcome(answer)
    } catch (error) {
      if (!signal.aborted) {
        this.#end({ answer, phase: 'failed', error })
        return 'failed'
      }
      recordReason(this.#question, t('app.unanswered.unsaved'))
      this.#end(undefined)
      return 'stopped'
    }
  }

  #end(progress: TurnProgress | undefined): void {
    this.#hasEnded = true
    this.#show(progress)
  }
}

const findOutcome = ({ cut }: Answer): TurnEnd['outcome'] => (cut === 'stopped' ? 'stopped' : 'complete')

/** The sides on which two models answer one question; undefined for an answer that stands alone. */
const lanes = [undefined, 0, 1] as const

/** Names the place of a streaming answer. */
const writeLane = (slug: string, side: Side | undefined): string => (side === undefined ? slug : `${slug}/${side}`)

/** The streaming answers by conversation and side. They continue while another conversation is shown. */
class TurnStore {
  readonly #turns = new Map<string, Turn>()
  readonly #running = new Map<string, RunningTurn>()
  readonly #listeners = new Listeners()

  readonly subscribe = this.#listeners.subscribe

  constructor() {
    addEventListener('pagehide', () => {
      for (const { writer } of this.#running.values()) writer.storeOnClose()
    })
  }

  find(slug: string, side?: Side): Turn | undefined {
    return this.#turns.get(writeLane(slug, side))
  }

  isAnswering(slug: string): boolean {
    return lanes.some((side) => this.#running.get(writeLane(slug, side))?.hasEnded === false)
  }

  /** Returns true while an answer streams that stands alone. */
  isAnsweringAlone(slug: string): boolean {
    return this.#running.get(writeLane(slug, undefined))?.hasEnded === false
  }

  /** Stops the answers of a conversation, or the one on this side. */
  stop(slug: string, side?: Side): void {
    for (const each of selectLanes(side)) this.#running.get(writeLane(slug, each))?.stop()
  }

  /** Records that another tab has chosen the answer on this side, which may still stream here. */
  recordChoice(slug: string, side: Side): void {
    this.#running.get(writeLane(slug, side))?.writer.recordChoice()
  }

  /** Stops the answer on this side, and waits until what has come of it is stored, or cannot be stored for now. */
  async end(slug: string, side: Side): Promise<void> {
    const phase = this.find(slug, side)?.phase
    // A stop would lose what has come already and is not stored yet.
    if (phase === 'waiting' || phase === 'answering') this.stop(slug, side)
    while (isStreaming(this.find(slug, side))) await this.#listeners.waitForNext()
  }

  /** Stores answers at once that have come and could not be stored. */
  storeAgain(slug: string, side?: Side): void {
    for (const each of selectLanes(side)) this.#running.get(writeLane(slug, each))?.writer.storeNow()
  }

  /** Forgets failed answers to a question of two models. */
  clearSides(slug: string): void {
    this.#set(writeLane(slug, 0), undefined)
    this.#set(writeLane(slug, 1), undefined)
  }

  /**
   * Requests an answer and stores it. What has arrived before an error or a stop is stored as well. An answer that still
   * streams into the same place is stopped. Resolves with undefined if another answer has taken its place.
   */
  async run(request: TurnRequest): Promise<TurnEnd | undefined> {
    const { slug, modelId: model, parent, comparison } = request
    const side = comparison?.side
    const lane = writeLane(slug, side)
    this.stop(slug, side)
    if (comparison) this.#set(slug, undefined)
    else this.clearSides(slug)
    const isCurrent = () => this.#running.get(lane) === running
    const running = new RunningTurn(request, (progress) => {
      if (isCurrent()) this.#set(lane, progress && { model, parent, comparison, ...progress })
    })
    this.#running.set(lane, running)
    const endGuard = guardClosing()
    const end = await running.run().finally(endGuard)
    if (!isCurrent()) return undefined
    this.#running.delete(lane)
    return end
  }

  #set(lane: string, turn: Turn | undefined): void {
    if (turn) this.#turns.set(lane, turn)
    else this.#turns.delete(lane)
    this.#listeners.notify()
  }
}

const selectLanes = (side: Side | undefined): readonly (Side | undefined)[] => (side === undefined ? lanes : [side])

const isEmpty = ({ text, thoughts, tools }: Answer) => text === '' && thoughts.length === 0 && tools.length === 0

/** Returns the error of an answer that has ended without any content, unless the person stopped it. */
function explainEmptyAnswer(answer: Answer): Error | undefined {
  if (!isEmpty(answer) || answer.cut === 'stopped') return undefined
  return new InputError(t(answer.cut === 'refusal' ? 'app.unanswered.refusal' : 'app.unanswered.empty'))
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

/** Returns the streaming answer of a conversation, or the one on this side. */
export const useTurn = (slug: string, side?: Side): Turn | undefined =>
  useSyncExternalStore(turns.subscribe, () => turns.find(slug, side))
