import type { ApprovalPart, ToolRun } from '../../ports/ai/approvals.ts'
import type { Message, ToolResult } from '../../ports/ai/messages.ts'
import type {
  AnswerPart,
  FunctionTool,
  ModelAnswer,
  ModelCall,
  ModelGateway,
  UsageMeter,
} from '../../ports/ai/models.ts'
import { tokensIn } from '../../ports/ai/token-estimate.ts'
import type { ApprovalGiven } from '../request/parts.ts'
import type { ReadMessage } from '../request/request.ts'
import { type AllowedCall, NOT_MADE, resultOf, runAllowed } from './run-allowed.ts'

/** More calls than any model asks for at once. */
const MAX_NEW = 64

const tooMany = `More than ${MAX_NEW} tools were allowed at once.`

type Models = Pick<ModelGateway, 'generate' | 'stream'>
type Questions = { refuse(id: string): Promise<void> }

type SettledPart = ToolRun | ApprovalPart

interface Settled {
  messages: Message[]
  /** Of the results. */
  tokens: number
}

/** Calls about which an earlier answer asked, at its end. Those that the person allowed run before the model goes on. */
export class AllowedCalls {
  readonly #questions: Questions
  /** By the result that each is to have. */
  readonly #allowed = new Map<ToolResult, AllowedCall>()
  readonly #refused: string[] = []
  /** Of the model that is asked, whether or not it may call any in its answer. */
  #tools: () => readonly FunctionTool[] = () => []
  #settled: Promise<Settled> | undefined
  readonly #parts: SettledPart[] = []
  #handedOut = 0
  #arrival = Promise.withResolvers<boolean>()

  constructor(questions: Questions) {
    this.#questions = questions
  }

  /** The messages with a result for each word of the person; that of an allowed call is put in when it has run. */
  take(messages: readonly ReadMessage[], tools = this.#tools): readonly Message[] {
    if (messages.every(isWordless)) return messages
    this.#tools = tools
    const parts = messages.flatMap(({ content }): readonly ReadMessage['content'][number][] => content)
    const calls = new Map(parts.flatMap((part) => (part.type === 'tool-call' ? [[part.id, part]] : [])))
    const answered = new Set(parts.flatMap((part) => (part.type === 'tool-result' ? part.id : [])))
    const [begin, end] = questionsAt(messages)
    return messages.flatMap((message, at): Message[] => {
      if (message.role !== 'tool') return [message]
      const content = message.content.flatMap((part) => {
        if (part.type === 'tool-result') return part
        const call = calls.get(part.id)
        // A call with a result has run.
        return call && !answered.has(part.id) ? this.#resultOf(part, { call, mayAsk: at > end }, at > begin) : []
      })
      return content.length > 0 ? [{ role: 'tool', content }] : []
    })
  }

  #resultOf({ id, allow, reason }: ApprovalGiven, allowed: AllowedCall, counts: boolean): ToolResult {
    const isFull = this.#allowed.size + this.#refused.length >= MAX_NEW
    const refusal = `The person does not allow this call.${reason ? ` They say: ${reason}` : ''}`
    const result = resultOf(allowed.call, { text: allow ? NOT_MADE : refusal, isError: true })
    if (counts && allow) this.#allowed.set(result, isFull ? { ...allowed, refusal: tooMany } : allowed)
    if (counts && !allow && !isFull) this.#refused.push(id)
    return result
  }

  /** What came of the calls so far, in the order of their ends. */
  get parts(): readonly SettledPart[] {
    return this.#parts
  }

  /** The answer of the model, after what was allowed has run; a call that is asked about anew ends the answer before it. */
  async generate(models: Models, asked: ModelCall, meter: UsageMeter): Promise<ModelAnswer> {
    if (this.#isEmpty) return models.generate(asked, meter)
    const settled = await this.#settle(asked)
    if (this.#isOpen) return { content: this.#parts, finish: 'tool-calls' }
    const { content, finish } = await models.generate(filled(asked, settled), meter)
    return { content: [...this.#parts, ...content], finish }
  }

  /** The same as it comes. */
  stream(models: Models, asked: ModelCall, meter: UsageMeter): AsyncIterable<readonly AnswerPart[]> {
    return this.#isEmpty ? models.stream(asked, meter) : this.#stream(models, asked, meter)
  }

  async *#stream(models: Models, asked: ModelCall, meter: UsageMeter): AsyncGenerator<readonly AnswerPart[], void> {
    const settling = this.#settle(asked)
    yield* this.#until(settling)
    const settled = await settling
    if (this.#isOpen) yield [{ type: 'finish', reason: 'tool-calls' }]
    else yield* models.stream(filled(asked, settled), meter)
  }

  /** The parts as they come, each once, also where another model takes the place of the first. */
  async *#until(settling: Promise<Settled>): AsyncGenerator<readonly SettledPart[], void> {
    for (let isOver = false; !isOver; ) {
      isOver = await Promise.race([settling.then(() => true), this.#arrival.promise])
      this.#arrival = Promise.withResolvers()
      const parts = this.#parts.slice(this.#handedOut)
      this.#handedOut = this.#parts.length
      if (parts.length > 0) yield parts
    }
  }

  get #isEmpty(): boolean {
    return this.#allowed.size + this.#refused.length === 0
  }

  get #isOpen(): boolean {
    return this.#parts.some(({ type }) => type === 'approval')
  }

  /** Once, also where another model takes the place of the first. */
  #settle(call: ModelCall): Promise<Settled> {
    this.#settled ??= this.#run(call)
    return this.#settled
  }

  /** So many at the same time; the others wait. */
  async #run({ messages, toolsAtOnce, signal }: ModelCall): Promise<Settled> {
    await Promise.all(this.#refused.map((id) => this.#questions.refuse(id)))
    const tools = this.#tools()
    const results = new Map<ToolResult, ToolResult>()
    const waiting = this.#allowed.entries()
    let tokens = 0
    const work = async () => {
      for (const [empty, allowed] of waiting) {
        signal.throwIfAborted()
        const outcome = await runAllowed(allowed, tools, signal)
        if (outcome.part) this.#handOut(outcome.part)
        tokens += tokensIn(outcome.text)
        results.set(empty, resultOf(allowed.call, outcome))
      }
    }
    await Promise.all(Array.from({ length: toolsAtOnce }, work))
    return { messages: messages.map((message) => withResults(message, results)), tokens }
  }

  #handOut(part: SettledPart): void {
    this.#parts.push(part)
    this.#arrival.resolve(false)
  }
}

const withResults = (message: Message, results: ReadonlyMap<unknown, ToolResult>): Message =>
  message.role === 'tool' ? { ...message, content: message.content.map((one) => results.get(one) ?? one) } : message

/** Whether the person says nothing of calls in it, as in most messages. */
const isWordless = (message: ReadMessage): message is Message =>
  message.role !== 'tool' || message.content.every(({ type }) => type === 'tool-result')

/** Where the messages of the last questions begin, and where the last of them is: a client may put each answer right after its question. */
function questionsAt(messages: readonly ReadMessage[]): [begin: number, end: number] {
  const parts = messages.flatMap(({ content }): readonly ReadMessage['content'][number][] => content)
  const asked = new Set(parts.flatMap((part) => (part.type === 'tool-approval' ? part.id : [])))
  const isOther = ({ content }: ReadMessage) =>
    content.some((part) => (part.type === 'tool-call' ? !asked.has(part.id) : part.type !== 'tool-approval'))
  const end = messages.findLastIndex(({ role }) => role === 'assistant')
  return [messages.slice(0, end + 1).findLastIndex(isOther), end]
}

const filled = (call: ModelCall, { messages, tokens }: Settled): ModelCall => ({
  ...call,
  messages,
  inputTokens: call.inputTokens + tokens,
})
