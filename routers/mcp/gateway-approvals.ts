import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { ApprovableCall, ApprovalRefusal } from '../ai/approvals/approvable-call.ts'
import { describeInput, PageApprovals, rememberForProgram } from '../ai/approvals/page-approvals.ts'
import { createFingerprint } from '../ai/approvals/page-questions.ts'
import type { ChatContext } from '../ai/chat-context.ts'
import type { CallableTool } from '../ai/tools/callable-tools.ts'
import { requireCredential } from '../core/context.ts'
import { openSealed } from '../core/sealed.ts'
import { TOOL_REQUEST_STATE } from '../ports/vault.ts'

/** The person's answer in their program, which sent it on. */
export const toolAnswer = z.strictObject({
  /** The sealed question, as it was sent. */
  state: z.string().max(4000),
  action: z.enum(['accept', 'decline', 'cancel']),
  /** The choice; undefined if it is none of ours. */
  choice: z.enum(['once', 'remember', 'no']).optional(),
})
export type ToolAnswer = z.output<typeof toolAnswer>

/** A question for the person, which their program shows. */
export interface ProgramQuestion {
  message: string
  /** Comes back with the answer. */
  state: string
  /** Milliseconds for which an approval is remembered. */
  lifetime: number
}

/** Milliseconds for which a question of a program can be answered. */
const STATE_MS = 10 * 60_000

const questionState = z.strictObject({
  id: z.string(),
  person: z.number(),
  credential: z.string(),
  fingerprint: z.string(),
  until: z.number(),
})
type QuestionState = z.output<typeof questionState>

interface AskingOptions {
  tool: CallableTool
  /** True if the program can show a question. */
  canAsk: boolean
  answer: ToolAnswer | undefined
}

/** Decides about a call of a program that its person must approve: by their program, or on a page of ours. */
export class GatewayApprovals {
  readonly #ctx: ChatContext
  readonly #options: AskingOptions
  readonly #credential: string
  readonly #page: PageApprovals
  /** Set if the program must ask the person. */
  question: ProgramQuestion | undefined

  constructor(ctx: ChatContext, options: AskingOptions) {
    this.#ctx = ctx
    this.#options = options
    this.#credential = requireCredential(ctx)
    this.#page = new PageApprovals(ctx, this.#program)
  }

  /** Returns the reason why the call must not run; the program has to ask where `question` is set. */
  async findRefusal(call: ApprovableCall): Promise<ApprovalRefusal | undefined> {
    if (await this.#page.take(call)) return undefined
    const { answer, canAsk, tool } = this.#options
    const canAnswer = answer ? answer.action !== 'cancel' : canAsk
    // Only a session answers for a server with `page`, as a program might answer in the person's place.
    if (tool.approval !== 'always' || !canAnswer) return this.#page.ask(call)
    const fingerprint = createFingerprint(call)
    return answer ? this.#applyAnswer(answer, call, fingerprint) : this.#askInPlace(call, fingerprint)
  }

  async #applyAnswer(
    answer: ToolAnswer,
    call: ApprovableCall,
    fingerprint: string,
  ): Promise<ApprovalRefusal | undefined> {
    const { action, choice } = answer
    if (action === 'decline' || choice === 'no') return { reason: 'The person does not allow this call.' }
    if (!(await this.#redeem(answer, fingerprint))) return { reason: STALE_ANSWER }
    if (choice === 'remember') await rememberForProgram(this.#ctx.services, this.#program, call)
    return undefined
  }

  /** Claims an answer for its call. Returns false for one to another call or program, and for a used or late one. */
  async #redeem({ state, choice }: ToolAnswer, fingerprint: string): Promise<boolean> {
    const opened = openSealed(this.#ctx.services.vault, state, TOOL_REQUEST_STATE, questionState)
    const isOfCall =
      opened?.person === this.#person &&
      opened.credential === this.#credential &&
      opened.fingerprint === fingerprint &&
      opened.until > Date.now()
    if (!isOfCall || choice === undefined) return false
    return this.#ctx.services.stores.kv.setIfAbsent(`mcp-answer:${opened.id}`, '1', STATE_MS)
  }

  #askInPlace(call: ApprovableCall, fingerprint: string): ApprovalRefusal {
    const state: QuestionState = {
      id: randomUUID(),
      person: this.#person,
      credential: this.#credential,
      fingerprint,
      until: Date.now() + STATE_MS,
    }
    const words = `May “${call.tool}” of ${call.server} be called with this input?`
    this.question = {
      message: [words, describeInput(call.input)].join('\n'),
      state: this.#ctx.services.vault.seal(JSON.stringify(state), TOOL_REQUEST_STATE),
      lifetime: this.#ctx.services.settings.tools.approvalLifetime,
    }
    return { reason: 'The person is asked whether this tool may be called.', isAsked: true }
  }

  get #program() {
    return { person: this.#person, credential: this.#credential }
  }

  get #person(): number {
    return this.#ctx.caller.person.id
  }
}

const STALE_ANSWER = 'This answer belongs to another call, was used already, or is too old. Call the tool again.'
