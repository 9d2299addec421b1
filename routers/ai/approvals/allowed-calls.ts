import type { Message, ToolResult } from '../../ports/ai/messages.ts'
import type { AnswerPart, ModelAnswer, ModelCall, ModelGateway } from '../../ports/ai/models.ts'
import { MAX_CALLS_A_ROUND } from '../../ports/ai/tool-calls.ts'
import type { FunctionTool } from '../../ports/ai/tools.ts'
import type { UsageMeter } from '../../ports/ai/usage-meter.ts'
import type { ApprovalGiven } from '../request/parts.ts'
import type { ReadMessage } from '../request/request.ts'
import { AllowedRuns, type Settled, type SettledPart } from './allowed-runs.ts'
import { type AllowedCall, NOT_MADE, resultOf } from './run-allowed.ts'

const tooMany = `More than ${MAX_CALLS_A_ROUND} tools were allowed at once.`

type Models = Pick<ModelGateway, 'generate' | 'stream'>
type Questions = { refuse(id: string): Promise<void> }

/** Calls about which an earlier answer asked, at its end. Those that the person allowed run before the model goes on. */
export class AllowedCalls {
  readonly #questions: Questions
  /** By the result that each is to have. */
  readonly #allowed = new Map<ToolResult, AllowedCall>()
  readonly #refused: string[] = []
  /** Of the model that is asked, whether or not it may call any in its answer. */
  #tools: () => readonly FunctionTool[] = () => []
  readonly #runs = new AllowedRuns()
  #settled: Promise<Settled> | undefined

  constructor(questions: Questions) {
    this.#questions = questions
  }

  /** The messages with a result for each answer of the person to a question; that of an allowed call is put in when it has run. */
  take(messages: readonly ReadMessage[], tools = this.#tools): readonly Message[] {
    if (messages.every(hasNoApproval)) return messages
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
    const isFull = this.#allowed.size + this.#refused.length >= MAX_CALLS_A_ROUND
    const refusal = `The person does not allow this call.${reason ? ` They say: ${reason}` : ''}`
    const result = resultOf(allowed.call, { text: allow ? NOT_MADE : refusal, isError: true })
    if (counts && allow) this.#allowed.set(result, isFull ? { ...allowed, refusal: tooMany } : allowed)
    if (counts && !allow && !isFull) this.#refused.push(id)
    return result
  }

  /** What came of the calls so far, in the order of their ends. */
  get parts(): readonly SettledPart[] {
    return this.#runs.parts
  }

  /** The answer of the model, after what was allowed has run; a call that is asked about anew ends the answer before it. */
  async generate(models: Models, asked: ModelCall, meter: UsageMeter): Promise<ModelAnswer> {
    if (this.#isEmpty) return models.generate(asked, meter)
    const settled = await this.#settle(asked)
    if (this.#runs.isOpen) return { content: this.#runs.parts, finish: 'tool-calls' }
    const answer = await models.generate(filled(asked, settled), meter)
    return { ...answer, content: [...this.#runs.parts, ...answer.content] }
  }

  /** The same as it comes. */
  stream(models: Models, asked: ModelCall, meter: UsageMeter): AsyncIterable<readonly AnswerPart[]> {
    return this.#isEmpty ? models.stream(asked, meter) : this.#stream(models, asked, meter)
  }

  async *#stream(models: Models, asked: ModelCall, meter: UsageMeter): AsyncGenerator<readonly AnswerPart[], void> {
    const settling = this.#settle(asked)
    yield* this.#runs.until(settling)
    const settled = await settling
    if (this.#runs.isOpen) yield [{ type: 'finish', reason: 'tool-calls' }]
    else yield* models.stream(filled(asked, settled), meter)
  }

  get #isEmpty(): boolean {
    return this.#allowed.size + this.#refused.length === 0
  }

  /** Once, also where another model takes the place of the first. */
  #settle(call: ModelCall): Promise<Settled> {
    this.#settled ??= this.#refuseAndRun(call)
    return this.#settled
  }

  async #refuseAndRun(call: ModelCall): Promise<Settled> {
    await Promise.all(this.#refused.map((id) => this.#questions.refuse(id)))
    return this.#runs.run(this.#allowed, this.#tools(), call)
  }
}

/** Whether the person allows and refuses no call in it, as in most messages. */
const hasNoApproval = (message: ReadMessage): message is Message =>
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
