import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { type Context, findCredential } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { ConversationApprovals, type ConversationScope } from './conversation-approvals.ts'

/** Asks the person whether a tool may be called, with what. */
export interface ApprovalPart {
  type: 'approval'
  /** To answer with. */
  id: string
  tool: string
  /** The label of its server. */
  server: string
  input: unknown
}

export const approvalAnswer = z.strictObject({
  id: z.uuid().describe('As the part `approval` of the stream says.'),
  allow: z.boolean(),
  remember: z
    .boolean()
    .default(false)
    .describe(
      'Whether it holds for further calls of the tool: in the same answer, and where it is allowed also in the conversation that the request names.',
    ),
})
type ApprovalAnswer = z.output<typeof approvalAnswer>

/** How often it is looked whether there is an answer, which any replica may have taken. */
const LOOK_MS = 200

const questionKey = (person: number, id: string) => `tool-approval:${person}:${id}`
const answerKey = (person: number, id: string) => `${questionKey(person, id)}:answer`

/** A call of a tool about which the person is to be asked. */
interface Asked extends Omit<ApprovalPart, 'type' | 'id'> {
  /** Of what the tool is: its server, and how it describes itself. */
  hash: string
}

interface ApprovalScope extends Omit<ConversationScope, 'credential'> {
  /** Whether somebody hears the questions. */
  isHeard: boolean
}

/** Answers a question of a stream of the same person; the first answer holds. */
export async function answerApproval(ctx: Context, person: number, { id, ...answer }: ApprovalAnswer): Promise<void> {
  const { kv, settings } = ctx.services
  const isAsked = await kv.get(questionKey(person, id))
  const value = JSON.stringify(answer)
  if (!isAsked || !(await kv.setIfAbsent(answerKey(person, id), value, settings.tools.approvalTimeout)))
    throw new Problem('not_found')
}

/** The questions of one answer, which are put between its parts. */
export class Approvals {
  readonly #ctx: Context
  readonly #isHeard: boolean
  readonly #conversation: ConversationApprovals
  readonly person: number
  readonly #remembered = new Map<string, boolean>()
  #waiting: ApprovalPart[] = []
  #arrival = Promise.withResolvers<void>()
  /** Whether some tool asks. */
  isNeeded = false

  constructor(ctx: Context, { isHeard, ...scope }: ApprovalScope) {
    this.#ctx = ctx
    this.#isHeard = isHeard
    this.#conversation = new ConversationApprovals(ctx.services, { ...scope, credential: findCredential(ctx) })
    this.person = scope.person
  }

  /** Waits for the person; returns why the tool must not be called, or nothing where it may. */
  async refusalOf(call: Asked, signal: AbortSignal): Promise<string | undefined> {
    if (await this.#conversation.has(call)) return undefined
    if (!this.#isHeard) return 'The person must allow each call of this tool, and cannot be asked here.'
    const allowed = this.#remembered.get(call.tool) ?? (await this.#ask(call, signal))
    if (allowed === undefined) return 'The person did not answer in time whether this tool may be called.'
    return allowed ? undefined : 'The person does not allow this call.'
  }

  async #ask(call: Asked, signal: AbortSignal): Promise<boolean | undefined> {
    const { kv, settings } = this.#ctx.services
    const id = randomUUID()
    const [question, answer] = [questionKey(this.person, id), answerKey(this.person, id)]
    await kv.set(question, '1', settings.tools.approvalTimeout)
    const { hash: _, ...shown } = call
    this.#waiting.push({ type: 'approval', id, ...shown })
    this.#arrival.resolve()
    try {
      const ends = performance.now() + settings.tools.approvalTimeout
      while (performance.now() < ends) {
        await pause(LOOK_MS, undefined, { signal })
        const given = await kv.get(answer)
        if (given) return await this.#take(call, JSON.parse(given))
        // Another call of the same round was answered for all of them.
        if (this.#remembered.has(call.tool)) return this.#remembered.get(call.tool)
      }
      return undefined
    } finally {
      await Promise.all([kv.delete(question), kv.delete(answer)])
    }
  }

  async #take(call: Asked, { allow, remember }: ApprovalAnswer): Promise<boolean> {
    if (remember) this.#remembered.set(call.tool, allow)
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
