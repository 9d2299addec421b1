import type { Context } from '../../core/context.ts'
import type { Services } from '../../core/services.ts'
import type { ApprovableCall, ApprovalRefusal } from './approvable-call.ts'
import { askPerson, createFingerprint, hasAllowance, takeAllowance } from './page-questions.ts'
import { ConversationApprovals, rememberApproval } from './remembered-approvals.ts'

/** Conversation under which approvals for a program are remembered and listed. */
const PROGRAM_CONVERSATION = '/mcp'

/** Keeps approvals for a program apart from those for a conversation that is called the same. */
const toProgramHash = (hash: string) => `mcp:${hash}`

/** Number of characters of the arguments that the person sees. */
const MAX_SHOWN = 2000

interface Program {
  person: number
  /** The token of the program. */
  credential: string
}

/** Lets a program make each call of a tool, for hours. */
export const rememberForProgram = (
  services: Pick<Services, 'stores' | 'settings'>,
  { person, credential }: Program,
  { tool, server, hash }: Pick<ApprovableCall, 'tool' | 'server' | 'hash'>,
): Promise<void> =>
  rememberApproval(services, person, {
    credential,
    conversation: PROGRAM_CONVERSATION,
    tool,
    server,
    hash: toProgramHash(hash),
  })

/** Approvals of a program's calls, which its person gives on a page of ours. */
export class PageApprovals {
  readonly #ctx: Context
  readonly #program: Program
  readonly #remembered: ConversationApprovals

  constructor(ctx: Context, program: Program) {
    this.#ctx = ctx
    this.#program = program
    this.#remembered = new ConversationApprovals(ctx.services, { ...program, conversation: PROGRAM_CONVERSATION })
  }

  /** True if the person has allowed the tool for hours, or this call once. */
  async has(call: ApprovableCall): Promise<boolean> {
    return (await this.#isRemembered(call)) || hasAllowance(this.#ctx.services, this.#program.person, this.#toKey(call))
  }

  /** The same, and uses up what allows this call once. */
  async take(call: ApprovableCall): Promise<boolean> {
    return (
      (await this.#isRemembered(call)) || takeAllowance(this.#ctx.services, this.#program.person, this.#toKey(call))
    )
  }

  /** Asks the person on the page, unless the question is there. Returns the sentence that sends them to it. */
  async ask(call: ApprovableCall): Promise<ApprovalRefusal> {
    const { tool, server, hash, input } = call
    const asked = { ...this.#toKey(call), tool, server, hash, input: describeInput(input) }
    const address = new URL('/settings/approvals', this.#ctx.services.settings.baseUrl)
    if (await askPerson(this.#ctx, this.#program.person, asked))
      return {
        reason: `The person must allow this call first. Ask them to allow it at ${address}, then call the tool again with the same arguments.`,
        isAsked: true,
      }
    return {
      reason: `The person must allow this call first, and has too many open questions. Ask them to answer some at ${address}, then call the tool again.`,
    }
  }

  #isRemembered({ tool, hash }: ApprovableCall): Promise<boolean> {
    return this.#remembered.has({ tool, hash: toProgramHash(hash) })
  }

  #toKey(call: ApprovableCall) {
    return { credential: this.#program.credential, fingerprint: createFingerprint(call) }
  }
}

/** Returns the arguments as the person sees them. */
export const describeInput = (input: unknown): string => {
  const text = JSON.stringify(input, null, 2)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()} …` : text
}
