import { SvcError } from '../../../client/index.ts'
import { sendOnClose } from '../shared/api/client.ts'
import type { StoredMessage } from '../shared/api/types.ts'
import type { Answer, Comparison } from '../shared/conversation/answer.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { readNumber, serializeAnswer, writeNumber } from './message-content.ts'
import { lockComparison, putMessageInCache, readMessage, updateMessage } from './messages.ts'
import { getCalls, isTemporary } from './temporary-chats.ts'
import { recordReason } from './unanswered.ts'

/** Milliseconds between two saves of a streaming answer, so that a closed tab loses little. */
const STORE_MS = 5000

/** Milliseconds between two seals of a streaming answer. */
const SEAL_MS = 500

/** Milliseconds to the first repetition of a failed save, and the most between two of them. */
const [FIRST_RETRY_MS, MAX_RETRY_MS] = [2000, 60_000]

interface AnswerTarget {
  slug: string
  key: ConversationKey
  model: string
  parent: number
  /** The number of the stored message, if there is one already. */
  number: number | undefined
  /** Present if the answer stands beside that of another model. */
  comparison: Comparison | undefined
}

/** Stores an answer while it streams, at its end, and when the page is closed. */
export class AnswerWriter {
  readonly #target: AnswerTarget
  #lastWrite: Promise<unknown> = Promise.resolve()
  #number: number | undefined
  #storedAt = Date.now()
  #isBusy = false
  #isWriting = false
  /** Sealed contents of messages that the service may have stored, even if its response was lost. */
  readonly #sent = new Set<string>()
  /** What has come, sealed, because nothing can be sealed while the page closes. */
  #sealed: string | undefined
  #sealedAt = 0
  #wake: (() => void) | undefined
  #isChosen = false

  constructor(target: AnswerTarget) {
    this.#target = target
    this.#number = target.number
  }

  /** The number of the stored message. */
  get number(): number | undefined {
    return this.#number
  }

  /** Records that another tab has chosen this answer of two. */
  recordChoice(): void {
    this.#isChosen = true
  }

  /** Stores the answer every few seconds. A failure is ignored, as the answer is stored again at its end. */
  storeOccasionally(answer: Answer): void {
    this.#sealOccasionally({ ...answer, cut: 'interrupted' })
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

  /**
   * Stores the whole answer. After a failure it stores the answer again, reports the error, and goes on until it succeeds
   * or is aborted; throws at once if there is nothing to report to.
   */
  async finish(answer: Answer, signal: AbortSignal, report: ((error: unknown) => void) | undefined): Promise<void> {
    const { key, slug, parent, comparison } = this.#target
    for (let delay = FIRST_RETRY_MS; ; delay = Math.min(delay * 2, MAX_RETRY_MS)) {
      try {
        const stored = await this.#write(answer, answer.cut === undefined)
        this.#sealed = undefined
        recordReason({ slug, parent, side: comparison?.side }, undefined)
        await putMessageInCache(key, slug, stored)
        return
      } catch (error) {
        if (!report || signal.aborted) throw error
        report(error)
        await this.#wait(mayPass(error) ? delay : undefined, signal)
      }
    }
  }

  /** Ends the pause before the next repetition of a failed save. */
  storeNow(): void {
    this.#wake?.()
  }

  /** Stores what has come while the page is closed, which leaves no time to wait for anything. */
  storeOnClose(): void {
    const content = this.#sealed
    // The message that is being created has no number yet.
    if (content === undefined || (this.#isWriting && this.#number === undefined)) return
    const { slug, model, parent } = this.#target
    if (isTemporary(slug)) return
    this.#sent.add(content)
    if (this.#number === undefined)
      sendOnClose('conversations.sendMessage', { slug, role: 'assistant', model, content, isComplete: false, parent })
    else
      sendOnClose('conversations.updateMessage', {
        slug,
        number: writeNumber(this.#number),
        content,
        isComplete: false,
      })
  }

  #sealOccasionally(answer: Answer): void {
    if (Date.now() - this.#sealedAt < SEAL_MS) return
    this.#sealedAt = Date.now()
    void this.#target.key.seal(this.#serialize(answer)).then((sealed) => {
      this.#sealed = sealed
    })
  }

  /** Waits until the time has passed, the browser is online again, or the person wants it; throws if aborted. */
  #wait(milliseconds: number | undefined, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const ending = new AbortController()
    const timer = milliseconds === undefined ? undefined : setTimeout(resolve, milliseconds)
    this.#wake = resolve
    addEventListener('online', () => resolve(), { signal: ending.signal })
    signal.addEventListener('abort', () => reject(signal.reason), { signal: ending.signal })
    return promise.finally(() => {
      clearTimeout(timer)
      ending.abort()
    })
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
    this.#isWriting = true
    try {
      return await this.#send(answer, isComplete)
    } finally {
      this.#isWriting = false
    }
  }

  async #send(answer: Answer, isComplete: boolean): Promise<StoredMessage> {
    const { slug, key, model, parent } = this.#target
    this.#number ??= await this.#findSent()
    if (this.#number !== undefined) return this.#update(this.#number, answer, isComplete)
    const content = await key.seal(this.#serialize(answer))
    this.#sent.add(content)
    const message = { slug, role: 'assistant' as const, model, content, isComplete, parent }
    const stored = await getCalls(slug).sendMessage.mutate(message)
    this.#number = readNumber(stored.number)
    return stored
  }

  /** Another tab may have chosen the answer while it streams here, and that stays in what is stored of it. */
  async #update(number: number, answer: Answer, isComplete: boolean): Promise<StoredMessage> {
    const { slug, key, comparison } = this.#target
    const update = async () =>
      updateMessage({ slug, number, content: await key.seal(this.#serialize(answer)), isComplete })
    if (!comparison) return update()
    return lockComparison(comparison, async () => {
      this.#isChosen ||= (await readMessage(key, slug, number))?.answer.comparison?.isChosen === true
      return update()
    })
  }

  #serialize(answer: Answer): string {
    const { comparison } = answer
    return serializeAnswer(
      comparison && this.#isChosen ? { ...answer, comparison: { ...comparison, isChosen: true } } : answer,
    )
  }

  /** Returns the number of a message that was stored although its response was lost; its content is like no other. */
  async #findSent(): Promise<number | undefined> {
    if (this.#sent.size === 0) return undefined
    const { data } = await getCalls(this.#target.slug).messages.query({
      slug: this.#target.slug,
      page: { size: SEARCHED },
    })
    const found = data.find(({ content }) => content !== null && this.#sent.has(content))
    return found && readNumber(found.number)
  }
}

/** The newest messages among which one is searched whose response was lost. */
const SEARCHED = 20

/** True if the same save may succeed later: no answer, a failure of the service, too many requests, an ended session. */
const mayPass = (error: unknown): boolean =>
  error instanceof SvcError &&
  (error.status === undefined || error.status >= 500 || error.status === 429 || error.status === 401)
