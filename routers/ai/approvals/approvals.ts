import { randomUUID } from 'node:crypto'
import { type Context, findCredential } from '../../core/context.ts'
import type { ApprovalPart, RunOnce, ToolOutcome } from '../../ports/ai/approvals.ts'
import { AllowedCalls } from './approved-calls.ts'
import { type ApprovalAnswer, answerKey, questionKey } from './my-approvals.ts'
import { type GuardedCall, OpenQuestions } from './pending-approvals.ts'
import { ConversationApprovals, type ConversationScope } from './remembered-approvals.ts'
import { KeptOutcomes } from './tool-results.ts'

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
  async runOnce(call: GuardedCall, question: string, { run, signal }: RunOnce): Promise<ToolOutcome | undefined> {
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
