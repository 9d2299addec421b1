import { createHash, randomUUID } from 'node:crypto'
import type { Services } from '../../core/services.ts'
import type { ApprovalPart } from '../../ports/ai/approvals.ts'

/** How many one person may have; each stands until it is answered or too old. */
const MAX_OPEN = 100

/** A call of a tool that the person must allow. */
export interface GuardedCall extends Omit<ApprovalPart, 'type' | 'id'> {
  /** Of what the tool is: its server, and how it describes itself. */
  hash: string
}

interface Asker {
  person: number
  /** The token or the session by which the person asks: what one app was asked, another one cannot answer. */
  credential: string | undefined
}

/** Questions by which answers ended, and which a further request of the same person answers, once. */
export class OpenQuestions {
  readonly #services: Pick<Services, 'kv' | 'limiter' | 'settings'>
  readonly #asker: Asker

  constructor(services: Pick<Services, 'kv' | 'limiter' | 'settings'>, asker: Asker) {
    this.#services = services
    this.#asker = asker
  }

  /** The id of a new question; undefined where too many are open. */
  async open(call: GuardedCall): Promise<string | undefined> {
    const { kv, limiter } = this.#services
    const { remaining } = await limiter.take(this.#countKey, MAX_OPEN, this.#seconds)
    if (remaining < 0) return void (await this.#makeRoom())
    const id = newId()
    await kv.set(this.#keyOf(id), markOf(call), this.#lifetime)
    return id
  }

  /** Whether this very call was asked about, and is allowed for the first time, or was taken before; `announce` comes before it is taken. */
  async take(
    id: string,
    call: GuardedCall,
    announce: (id: string) => Promise<void>,
  ): Promise<'open' | 'taken' | undefined> {
    const { kv } = this.#services
    const mark = markOf(call)
    if ((await kv.get(this.#keyOf(id))) === mark) {
      await announce(id)
      if (await this.#closeOnce(id, mark)) return 'open'
    }
    return (await kv.get(this.#closedKeyOf(id))) === mark ? 'taken' : undefined
  }

  /** Nobody can allow it any more. */
  async close(id: string): Promise<void> {
    if ((await this.#services.kv.get(this.#keyOf(id))) !== undefined) await this.#closeOnce(id, 'refused')
  }

  /** Whether it was open: of several answers at once, one closes it. */
  async #closeOnce(id: string, by: string): Promise<boolean> {
    const { kv } = this.#services
    const isFirst = await kv.setIfAbsent(this.#closedKeyOf(id), by, this.#lifetime)
    if (isFirst) await Promise.all([kv.delete(this.#keyOf(id)), this.#makeRoom()])
    return isFirst
  }

  #makeRoom(): Promise<void> {
    return this.#services.limiter.giveBack(this.#countKey, MAX_OPEN, this.#seconds)
  }

  get #lifetime(): number {
    return this.#services.settings.tools.questionLifetime
  }

  get #seconds(): number {
    return Math.ceil(this.#lifetime / 1000)
  }

  get #countKey(): string {
    return `tool-questions:${this.#asker.person}`
  }

  #keyOf(id: string): string {
    return `tool-question:${this.#name}:${id}`
  }

  /** Of a prefix of its own: ids come from callers, so one could name it as a question. */
  #closedKeyOf(id: string): string {
    return `tool-question-closed:${this.#name}:${id}`
  }

  /** In the keys, so that no other app finds the question, be it to allow or to refuse it. */
  get #name(): string {
    return `${this.#asker.person}:${this.#asker.credential}`
  }
}

/** Of all that the person was shown. */
const markOf = ({ tool, hash, input }: GuardedCall): string =>
  createHash('sha256')
    .update(JSON.stringify([tool, hash, JSON.stringify(input)]))
    .digest('hex')

/** It becomes the id of the call, which some providers take with nine letters and digits alone. */
const newId = () => randomUUID().replaceAll('-', '').slice(0, 9)
