import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { ApprovableCall } from '../ai/approvals/approvals.ts'
import { ConversationApprovals } from '../ai/approvals/remembered-approvals.ts'
import type { ChatContext } from '../ai/chat-context.ts'
import type { CallableTool } from '../ai/tools/callable-tools.ts'
import { requireCredential } from '../core/context.ts'
import { TOOL_REQUEST_STATE } from '../ports/vault.ts'
import { askPerson, createFingerprint, takeAllowance } from './tool-questions.ts'

/** What the person answered in their program, which sent it on. */
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
}

/** Conversation under which approvals for a program are remembered and listed. */
export const GATEWAY_CONVERSATION = '/mcp'

/** Keeps approvals for the gateway apart from those for a conversation that is called the same. */
export const toGatewayHash = (hash: string) => `mcp:${hash}`

/** Milliseconds for which a question of a program can be answered. */
const STATE_MS = 10 * 60_000
/** Number of characters of the arguments that the person sees. */
const MAX_SHOWN = 2000

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
  readonly #remembered: ConversationApprovals
  /** Set if the program must ask the person. */
  question: ProgramQuestion | undefined

  constructor(ctx: ChatContext, options: AskingOptions) {
    this.#ctx = ctx
    this.#options = options
    this.#credential = requireCredential(ctx)
    const scope = { person: this.#person, credential: this.#credential, conversation: GATEWAY_CONVERSATION }
    this.#remembered = new ConversationApprovals(ctx.services, scope)
  }

  /** Returns the reason why the call must not run; the program has to ask where `question` is set. */
  async findRefusal(call: ApprovableCall): Promise<string | undefined> {
    const fingerprint = createFingerprint(call)
    if (await this.#isApproved(call, fingerprint)) return undefined
    const { answer, canAsk, tool } = this.#options
    const canAnswer = answer ? answer.action !== 'cancel' : canAsk
    // Only a session answers for a server with `page`, as a program might answer in the person's place.
    if (tool.approval !== 'always' || !canAnswer) return this.#askOnPage(call, fingerprint)
    return answer ? this.#applyAnswer(answer, call, fingerprint) : this.#askInPlace(call, fingerprint)
  }

  /** True if the person has allowed the tool for hours, or this call once. */
  async #isApproved({ hash, ...call }: ApprovableCall, fingerprint: string): Promise<boolean> {
    if (await this.#remembered.has({ ...call, hash: toGatewayHash(hash) })) return true
    return takeAllowance(this.#ctx.services, this.#person, { credential: this.#credential, fingerprint })
  }

  async #applyAnswer(answer: ToolAnswer, { hash, ...call }: ApprovableCall, fingerprint: string) {
    const { action, choice } = answer
    if (action === 'decline' || choice === 'no') return 'The person does not allow this call.'
    if (!(await this.#redeem(answer, fingerprint))) return STALE_ANSWER
    if (choice === 'remember') await this.#remembered.add({ ...call, hash: toGatewayHash(hash) })
    return undefined
  }

  /** Claims an answer for its call. Returns false for one to another call or program, and for a used or late one. */
  async #redeem({ state, choice }: ToolAnswer, fingerprint: string): Promise<boolean> {
    const opened = this.#openState(state)
    const isOfCall =
      opened?.person === this.#person &&
      opened.credential === this.#credential &&
      opened.fingerprint === fingerprint &&
      opened.until > Date.now()
    if (!isOfCall || choice === undefined) return false
    return this.#ctx.services.stores.kv.setIfAbsent(`mcp-answer:${opened.id}`, '1', STATE_MS)
  }

  #openState(state: string): QuestionState | undefined {
    try {
      return questionState.parse(JSON.parse(this.#ctx.services.vault.open(state, TOOL_REQUEST_STATE)))
    } catch {
      return undefined
    }
  }

  #askInPlace(call: ApprovableCall, fingerprint: string): string {
    const state: QuestionState = {
      id: randomUUID(),
      person: this.#person,
      credential: this.#credential,
      fingerprint,
      until: Date.now() + STATE_MS,
    }
    this.question = {
      message: `May “${call.tool}” of ${call.server} be called with this input?\n${describeInput(call.input)}`,
      state: this.#ctx.services.vault.seal(JSON.stringify(state), TOOL_REQUEST_STATE),
    }
    return 'The person is asked whether this tool may be called.'
  }

  async #askOnPage({ tool, server, hash, input }: ApprovableCall, fingerprint: string): Promise<string> {
    const asked = { credential: this.#credential, tool, server, hash, input: describeInput(input), fingerprint }
    await askPerson(this.#ctx.services, this.#person, asked)
    const address = new URL('/settings/approvals', this.#ctx.services.settings.baseUrl)
    return `The person must allow this call first. Ask them to allow it at ${address}, then call the tool again with the same arguments.`
  }

  get #person(): number {
    return this.#ctx.caller.person.id
  }
}

const STALE_ANSWER = 'This answer belongs to another call, was used already, or is too old. Call the tool again.'

const describeInput = (input: unknown): string => {
  const text = JSON.stringify(input, null, 2)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()} …` : text
}
