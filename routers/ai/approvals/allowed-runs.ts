import type { ApprovalPart, ToolRun, ToolStart } from '../../ports/ai/approvals.ts'
import type { Message, ToolResult } from '../../ports/ai/messages.ts'
import type { ModelCall } from '../../ports/ai/models.ts'
import { tokensIn } from '../../ports/ai/token-estimate.ts'
import type { FunctionTool } from '../../ports/ai/tools.ts'
import { type AllowedCall, resultOf, runAllowed } from './run-allowed.ts'

export type SettledPart = ToolRun | ApprovalPart

export interface Settled {
  messages: Message[]
  /** Of the results. */
  tokens: number
}

/** The runs of the calls that the person allowed. */
export class AllowedRuns {
  /** In the order of their ends. */
  readonly parts: SettledPart[] = []
  /** What a stream has not handed out yet. */
  readonly #news: (SettledPart | ToolStart)[] = []
  #arrival = Promise.withResolvers<boolean>()

  /** Whether some call is asked about anew. */
  get isOpen(): boolean {
    return this.parts.some(({ type }) => type === 'approval')
  }

  /** Runs so many at the same time; the others wait. Where one cannot be run, none is begun any more, and those under way end first. */
  async run(
    allowed: ReadonlyMap<ToolResult, AllowedCall>,
    tools: readonly FunctionTool[],
    { messages, toolsAtOnce, signal }: Pick<ModelCall, 'messages' | 'toolsAtOnce' | 'signal'>,
  ): Promise<Settled> {
    const results = new Map<ToolResult, ToolResult>()
    const waiting = allowed.entries()
    const failures: unknown[] = []
    let tokens = 0
    const work = async () => {
      for (const [empty, one] of waiting) {
        if (failures.length > 0) return
        signal.throwIfAborted()
        const outcome = await runAllowed(one, tools, { signal, begin: (part) => this.#handOut(part) })
        this.#end(outcome.part)
        tokens += tokensIn(outcome.text)
        results.set(empty, resultOf(one.call, outcome))
      }
    }
    const note = (error: unknown) => void failures.push(error)
    await Promise.all(Array.from({ length: toolsAtOnce }, () => work().catch(note)))
    if (failures.length > 0) throw failures[0]
    return { messages: messages.map((message) => withResults(message, results)), tokens }
  }

  #end(part: SettledPart | undefined): void {
    if (!part) return
    this.parts.push(part)
    this.#handOut(part)
  }

  #handOut(part: SettledPart | ToolStart): void {
    this.#news.push(part)
    this.#arrival.resolve(false)
  }

  /** The parts as they come, each once, also where another model takes the place of the first; ends with the runs, however those end. */
  async *until(settling: Promise<Settled>): AsyncGenerator<readonly (SettledPart | ToolStart)[], void> {
    const over = settling.then(
      () => true,
      () => true,
    )
    for (let isOver = false; !isOver; ) {
      isOver = await Promise.race([over, this.#arrival.promise])
      this.#arrival = Promise.withResolvers()
      if (this.#news.length > 0) yield this.#news.splice(0)
    }
  }
}

const withResults = (message: Message, results: ReadonlyMap<unknown, ToolResult>): Message =>
  message.role === 'tool' ? { ...message, content: message.content.map((one) => results.get(one) ?? one) } : message
