import { createHash, randomUUID } from 'node:crypto'
import { type Context, findCredential } from '../../core/context.ts'
import type { Services } from '../../core/services.ts'
import type { ApprovalPart, SingleRun, ToolOutcome } from '../../ports/ai/tools.ts'
import { AllowedCalls } from './approved-calls.ts'
import { type ApprovalAnswer, answerKey, questionKey } from './my-approvals.ts'
import { ConversationApprovals, type ConversationScope } from './remembered-approvals.ts'
import { KeptOutcomes } from './tool-results.ts'

/** How many one person may have; each stands until it is answered or too old. */
const MAX_OPEN = 100

/** A call of a tool that the person must allow. */
interface GuardedCall extends Omit<ApprovalPart, 'type' | 'id'> {
  /** Of what the tool is: its server, and how it describes itself. */
  hash: string
}

interface Asker {
  person: number
  /** The token or the session by which the person asks: what one app was asked, another one cannot answer. */
  credential: string | undefined
}

/** Questions by which answers ended, and which a further request of the same person answers, once. */
class OpenQuestions {
  readonly #services: Pick<Services, 'kv' | 'limiter' | 'settings'>
  readonly #asker: Asker

  constructor(services: Pick<Services, 'kv' | 'limiter' | 'settings'>, asker: Asker) {
    this.#services = services
    this.#asker = asker
  }

  /** The id of a new question; undefined where too many are open. */
  async open(call: GuardedCall): Promise<string | undefined> {
    const { kv, limiter } = this.#services
    const { remaining } = await limiter.consume(this.#countKey, MAX_OPEN, this.#seconds)
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
    return this.#services.limiter.refund(this.#countKey, MAX_OPEN, this.#seconds)
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

/** Where a person is asked: within the stream, which waits, or at the end of the answer; nowhere where it is undefined. */
export type QuestionPlace = 'amid' | 'last' | undefined

interface ApprovalScope extends Omit<ConversationScope, 'credential'> {
  questionPlace: QuestionPlace
}

/** The questions of one answer. */
export class Approvals {
  readonly #ctx: Context
  readonly #questionPlace: QuestionPlace
  readonly #conversation: ConversationApprovals
  readonly #open: OpenQuestions
  readonly #outcomes: KeptOutcomes
  readonly person: number
  /** What the person allowed with the request. */
  readonly allowed = new AllowedCalls(this)
  readonly #remembered = new Map<string, boolean>()
  /** By what its questions are woken when an answer was given for all calls of a tool. */
  readonly #round = randomUUID()
  /** Calls that may run once. */
  readonly #granted: string[] = []
  #waiting: ApprovalPart[] = []
  #arrival = Promise.withResolvers<void>()
  /** Whether some tool asks while the stream waits. */
  isNeeded = false

  constructor(ctx: Context, { questionPlace, ...scope }: ApprovalScope) {
    const asker = { person: scope.person, credential: findCredential(ctx) }
    this.#ctx = ctx
    this.#questionPlace = questionPlace
    this.#conversation = new ConversationApprovals(ctx.services, { ...scope, ...asker })
    this.#open = new OpenQuestions(ctx.services, asker)
    this.#outcomes = new KeptOutcomes(ctx.services, scope.person)
    this.person = scope.person
  }

  /** What comes of the call where the question, which was answered with yes, is about it; undefined where it is not. */
  async runOnce(call: GuardedCall, question: string, { run, signal }: SingleRun): Promise<ToolOutcome | undefined> {
    if (this.#questionPlace !== 'last') return undefined
    const state = await this.#open.take(question, call, this.#outcomes.expect)
    if (state !== 'open') return state && this.#outcomes.wait(question, signal)
    this.#granted.push(nameOf(call))
    return this.#outcomes.keep(question, run)
  }

  /** The question to end the answer with, or nothing where the tool says itself whether it runs. */
  async questionOf(call: GuardedCall): Promise<ApprovalPart | undefined> {
    if (this.#questionPlace !== 'last' || (await this.#conversation.has(call))) return undefined
    const id = await this.#open.open(call)
    return id === undefined ? undefined : { type: 'approval', id, ...shown(call) }
  }

  /** Closes a question that the person answered with no. */
  async refuse(id: string): Promise<void> {
    await this.#open.close(id)
  }

  /** Waits for the person; returns why the tool must not be called, or nothing where it may. */
  async refusalOf(call: GuardedCall, signal: AbortSignal): Promise<string | undefined> {
    const granted = this.#granted.indexOf(nameOf(call))
    if (granted >= 0) return void this.#granted.splice(granted, 1)
    if (await this.#conversation.has(call)) return undefined
    if (this.#questionPlace === 'last')
      return 'The person must allow each call of this tool, and has too many open questions.'
    if (!this.#questionPlace) return 'The person must allow each call of this tool, and cannot be asked here.'
    const allowed = this.#remembered.get(call.tool) ?? (await this.#ask(call, signal))
    if (allowed === undefined) return 'The person did not answer in time whether this tool may be called.'
    return allowed ? undefined : 'The person does not allow this call.'
  }

  async #ask(call: GuardedCall, signal: AbortSignal): Promise<boolean | undefined> {
    const { kv, notifier, settings } = this.#ctx.services
    const id = randomUUID()
    const [question, answer] = [questionKey(this.person, id), answerKey(this.person, id)]
    await kv.set(question, '1', settings.tools.approvalTimeout)
    this.#waiting.push({ type: 'approval', id, ...shown(call) })
    this.#arrival.resolve()
    const look = async () => {
      const given = await kv.get(answer)
      // Another call of the same round may have been answered for all of them.
      return given ? this.#take(call, JSON.parse(given)) : this.#remembered.get(call.tool)
    }
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(settings.tools.approvalTimeout)])
      const allowed = await notifier.waitFor([answer, this.#round], look, limit)
      signal.throwIfAborted()
      return allowed
    } finally {
      await Promise.all([kv.delete(question), kv.delete(answer)])
    }
  }

  async #take(call: GuardedCall, { allow, remember }: ApprovalAnswer): Promise<boolean> {
    if (remember) {
      this.#remembered.set(call.tool, allow)
      this.#ctx.services.notifier.notify(this.#round)
    }
    if (remember && allow) await this.#conversation.add(call)
    return allow
  }

  /** Puts the questions between the parts of an answer, which stands still while a tool waits. */
  async *amid<Part>(steps: AsyncIterable<readonly Part[]>): AsyncGenerator<readonly (Part | ApprovalPart)[], void> {
    const iterator = steps[Symbol.asyncIterator]()
    try {
      for (let next = iterator.next(); ; ) {
        await Promise.race([next, this.#arrival.promise])
        if (this.#waiting.length > 0) {
          this.#arrival = Promise.withResolvers()
          yield this.#waiting.splice(0)
          continue
        }
        const step = await next
        if (step.done) return
        yield step.value
        next = iterator.next()
      }
    } finally {
      await iterator.return?.()
    }
  }
}

const shown = ({ hash: _, ...call }: GuardedCall) => call

const nameOf = ({ tool, hash, input }: GuardedCall) => JSON.stringify([tool, hash, input])
