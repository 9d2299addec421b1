import { createHash, randomUUID } from 'node:crypto'
import { type Context, findCredential } from '../../core/context.ts'
import type { Services } from '../../core/services.ts'
import type { ApprovalPart, SingleRun, ToolOutcome } from '../../ports/ai/tools.ts'
import type { CallSite } from '../tools/tool-use-record.ts'
import type { ApprovableCall, ApprovalRefusal } from './approvable-call.ts'
import { ApprovedCalls } from './approved-calls.ts'
import { type ApprovalAnswer, buildAnswerKey, buildQuestionKey, FOR_SESSION } from './my-approvals.ts'
import { PageApprovals } from './page-approvals.ts'
import { ConversationApprovals, type ConversationScope } from './remembered-approvals.ts'
import { ToolResultStore } from './tool-results.ts'

/** Maximum number of pending questions of one person. A question stays pending until it is answered or expires. */
const MAX_PENDING_QUESTIONS = 100

interface Requester {
  person: number
  /** The token or session of the request. A question that was sent to one app cannot be answered by another. */
  credential: string | undefined
}

/** Questions at the end of an answer. A later request of the same person answers each at most once. */
class PendingQuestions {
  readonly #services: Pick<Services, 'stores' | 'limits' | 'settings'>
  readonly #requester: Requester

  constructor(services: Pick<Services, 'stores' | 'limits' | 'settings'>, requester: Requester) {
    this.#services = services
    this.#requester = requester
  }

  /** Stores a question and returns its id, or undefined if the person has too many pending questions. */
  async create(call: ApprovableCall): Promise<string | undefined> {
    const { kv } = this.#services.stores
    const { limiter } = this.#services.limits
    const { remaining } = await limiter.consume(this.#countKey, MAX_PENDING_QUESTIONS, this.#lifetimeSeconds)
    if (remaining < 0) return void (await this.#releaseSlot())
    const id = createCallId()
    await kv.set(this.#pendingKey(id), hashCall(call), this.#lifetime)
    return id
  }

  /**
   * Claims a question for the call it was asked about. Returns `first` for the first claim, `repeated` if it was
   * claimed before, `refused` if `confirm` returns false, and undefined if the question is about something else. Runs
   * `announce` before the claim.
   */
  async claim(
    id: string,
    call: ApprovableCall,
    { confirm, announce }: { confirm: () => Promise<boolean>; announce: (id: string) => Promise<void> },
  ): Promise<'first' | 'repeated' | 'refused' | undefined> {
    const { kv } = this.#services.stores
    const callHash = hashCall(call)
    const isPending = (await kv.get(this.#pendingKey(id))) === callHash
    if (isPending && (await confirm())) {
      await announce(id)
      if (await this.#tryClose(id, callHash)) return 'first'
    }
    if ((await kv.get(this.#closedKey(id))) === callHash) return 'repeated'
    return isPending ? 'refused' : undefined
  }

  /** Closes a question so that it cannot be approved any more. */
  async close(id: string): Promise<void> {
    if ((await this.#services.stores.kv.get(this.#pendingKey(id))) !== undefined) await this.#tryClose(id, 'refused')
  }

  /** Returns true if this call closed the question: of several concurrent answers only one does. */
  async #tryClose(id: string, value: string): Promise<boolean> {
    const { kv } = this.#services.stores
    const isFirst = await kv.setIfAbsent(this.#closedKey(id), value, this.#lifetime)
    if (isFirst) await Promise.all([kv.delete(this.#pendingKey(id)), this.#releaseSlot()])
    return isFirst
  }

  #releaseSlot(): Promise<void> {
    return this.#services.limits.limiter.refund(this.#countKey, MAX_PENDING_QUESTIONS, this.#lifetimeSeconds)
  }

  get #lifetime(): number {
    return this.#services.settings.tools.questionLifetime
  }

  get #lifetimeSeconds(): number {
    return Math.ceil(this.#lifetime / 1000)
  }

  get #countKey(): string {
    return `tool-questions:${this.#requester.person}`
  }

  #pendingKey(id: string): string {
    return `tool-question:${this.#requesterKey}:${id}`
  }

  /** Uses a prefix of its own, because ids come from callers: one could otherwise forge the key of a question. */
  #closedKey(id: string): string {
    return `tool-question-closed:${this.#requesterKey}:${id}`
  }

  /** Part of every key, so that no other app can find the question to approve or refuse it. */
  get #requesterKey(): string {
    return `${this.#requester.person}:${this.#requester.credential}`
  }
}

/** Hashes everything that the person was shown. */
const hashCall = ({ tool, hash, input }: ApprovableCall): string =>
  createHash('sha256')
    .update(JSON.stringify([tool, hash, JSON.stringify(input)]))
    .digest('hex')

/** Creates an id for a call. Some providers accept only nine letters and digits. */
const createCallId = () => randomUUID().replaceAll('-', '').slice(0, 9)

/**
 * Mode of asking the person: `inline` pauses the stream until they answer, `deferred` ends the answer with the question,
 * undefined never asks.
 */
export type ApprovalMode = 'inline' | 'deferred' | undefined

interface ApprovalScope extends Omit<ConversationScope, 'credential'> {
  approvalMode: ApprovalMode
  /** The room where the answer is given, if any. */
  roomId?: number | undefined
}

/** Approvals of tool calls within one answer. */
export class Approvals {
  readonly #ctx: Context
  readonly #approvalMode: ApprovalMode
  readonly #conversation: ConversationApprovals
  readonly #pending: PendingQuestions
  readonly #toolResults: ToolResultStore
  /** Set for a program, which may not answer some questions itself. */
  readonly #page: PageApprovals | undefined
  readonly #person: number
  /** The place where tools are called. */
  readonly site: CallSite
  /** Calls that the person approved in this request. */
  readonly approvedCalls = new ApprovedCalls(this)
  readonly #answersByTool = new Map<string, boolean>()
  /** Event that wakes all waiting questions once an answer applies to every call of a tool. */
  readonly #answerEvent = randomUUID()
  /** Calls that may run once. */
  readonly #grantedCalls: string[] = []
  #unsentQuestions: ApprovalPart[] = []
  #questionArrived = Promise.withResolvers<void>()
  /** True if some tool of the model needs an approval. */
  needsApproval = false

  constructor(ctx: Context, { approvalMode, roomId, ...scope }: ApprovalScope) {
    const credential = findCredential(ctx)
    const requester = { person: scope.person, credential }
    const isProgram = ctx.caller.type === 'user' && ctx.caller.token !== undefined && credential !== undefined
    if (isProgram) this.#page = new PageApprovals(ctx, { person: scope.person, credential })
    this.#ctx = ctx
    this.#approvalMode = approvalMode
    this.#conversation = new ConversationApprovals(ctx.services, { ...scope, ...requester })
    this.#pending = new PendingQuestions(ctx.services, requester)
    this.#toolResults = new ToolResultStore(ctx.services, scope.person)
    this.site = { surface: roomId === undefined ? 'chat' : 'room', roomId }
    this.#person = scope.person
  }

  /** Runs an approved call once and returns its result. Returns undefined if the question was not about this call. */
  async runOnce(
    call: ApprovableCall,
    questionId: string,
    { run, signal }: SingleRun,
  ): Promise<ToolOutcome | undefined> {
    if (this.#approvalMode !== 'deferred') return undefined
    const page = this.#findPage(call)
    const confirm = async () => page === undefined || page.take(call)
    const state = await this.#pending.claim(questionId, call, { confirm, announce: this.#toolResults.announce })
    if (state === 'refused') return page && { text: (await page.ask(call)).reason, isError: true }
    if (state !== 'first') return state && this.#toolResults.waitForOutcome(questionId, signal)
    this.#grantedCalls.push(serializeCall(call))
    return this.#toolResults.runAndStore(questionId, run)
  }

  /**
   * Creates the question that ends the answer. Returns undefined if none is needed or possible; running the tool then
   * decides.
   */
  async createQuestion(call: ApprovableCall): Promise<ApprovalPart | undefined> {
    if (this.#approvalMode !== 'deferred') return undefined
    const page = this.#findPage(call)
    if (await (page ?? this.#conversation).has(call)) return undefined
    await page?.ask(call)
    const id = await this.#pending.create(call)
    return id === undefined ? undefined : { type: 'approval', id, ...toPublicCall(call) }
  }

  /** Closes a question that the person answered with no. */
  async refuse(id: string): Promise<void> {
    await this.#pending.close(id)
  }

  /** Waits for the person's answer. Returns the reason why the tool must not run, or undefined if it may. */
  async findRefusal(call: ApprovableCall, signal: AbortSignal): Promise<ApprovalRefusal | undefined> {
    const grantedIndex = this.#grantedCalls.indexOf(serializeCall(call))
    if (grantedIndex >= 0) return void this.#grantedCalls.splice(grantedIndex, 1)
    const page = this.#findPage(call)
    if (page) return (await page.take(call)) ? undefined : page.ask(call)
    if (await this.#conversation.has(call)) return undefined
    if (this.#approvalMode === 'deferred')
      return { reason: 'The person must allow each call of this tool, and has too many open questions.' }
    if (!this.#approvalMode)
      return { reason: 'The person must allow each call of this tool, and cannot be asked here.' }
    const isAllowed = this.#answersByTool.get(call.tool) ?? (await this.#askPerson(call, signal))
    if (isAllowed === undefined)
      return { reason: 'The person did not answer in time whether this tool may be called.', isAsked: true }
    return isAllowed ? undefined : { reason: 'The person does not allow this call.' }
  }

  /** Returns the page where the person answers if this caller may not. */
  #findPage({ needsSession }: ApprovableCall): PageApprovals | undefined {
    return needsSession ? this.#page : undefined
  }

  async #askPerson(call: ApprovableCall, signal: AbortSignal): Promise<boolean | undefined> {
    const { settings } = this.#ctx.services
    const { kv } = this.#ctx.services.stores
    const { notifier } = this.#ctx.services.changes
    const id = randomUUID()
    const [question, answer] = [buildQuestionKey(this.#person, id), buildAnswerKey(this.#person, id)]
    await kv.set(question, call.needsSession ? FOR_SESSION : '1', settings.tools.approvalTimeout)
    this.#unsentQuestions.push({ type: 'approval', id, ...toPublicCall(call) })
    this.#questionArrived.resolve()
    const readAnswer = async () => {
      const stored = await kv.get(answer)
      // The person may have answered another call of this tool for all of its calls.
      return stored ? this.#applyAnswer(call, JSON.parse(stored)) : this.#answersByTool.get(call.tool)
    }
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(settings.tools.approvalTimeout)])
      const isAllowed = await notifier.waitFor([answer, this.#answerEvent], readAnswer, limit)
      signal.throwIfAborted()
      return isAllowed
    } finally {
      await Promise.all([kv.delete(question), kv.delete(answer)])
    }
  }

  async #applyAnswer(call: ApprovableCall, { allow, remember }: ApprovalAnswer): Promise<boolean> {
    if (remember) {
      this.#answersByTool.set(call.tool, allow)
      this.#ctx.services.changes.notifier.notify(this.#answerEvent)
    }
    if (remember && allow) await this.#conversation.add(call)
    return allow
  }

  /** Inserts questions between the parts of an answer, which pauses while a tool waits for approval. */
  async *insertQuestions<Part>(
    steps: AsyncIterable<readonly Part[]>,
  ): AsyncGenerator<readonly (Part | ApprovalPart)[], void> {
    const iterator = steps[Symbol.asyncIterator]()
    try {
      for (let next = iterator.next(); ; ) {
        // Each step has a promise of its own, because one that stays pending would keep all steps in memory.
        if (this.#unsentQuestions.length === 0) this.#questionArrived = Promise.withResolvers()
        await Promise.race([next, this.#questionArrived.promise])
        if (this.#unsentQuestions.length > 0) {
          yield this.#unsentQuestions.splice(0)
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

const toPublicCall = ({ hash: _, needsSession: __, ...call }: ApprovableCall) => call

const serializeCall = ({ tool, hash, input }: ApprovableCall) => JSON.stringify([tool, hash, input])
