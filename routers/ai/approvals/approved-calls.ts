import type { Message, ToolCall, ToolResult } from '../../ports/ai/messages.ts'
import type { AnswerPart, ModelAnswer, ModelCall, ModelGateway } from '../../ports/ai/models.ts'
import { estimateTokens } from '../../ports/ai/token-estimate.ts'
import {
  describeInvalidInput,
  MAX_CALLS_A_ROUND,
  parseArguments,
  runTool,
  tryParseJson,
} from '../../ports/ai/tool-calls.ts'
import type { ApprovalPart, FunctionTool, ToolOutcome, ToolRun, ToolStart } from '../../ports/ai/tools.ts'
import type { UsageMeter } from '../../ports/ai/usage-meter.ts'
import type { ApprovalGiven } from '../request/parts.ts'
import type { ReadMessage } from '../request/request.ts'
import { UNKNOWN } from './tool-results.ts'

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

type SettledPart = ToolRun | ApprovalPart

interface Settled {
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
        tokens += estimateTokens(outcome.text)
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

interface AllowedCall {
  call: ToolCall
  /** Whether the person is asked anew where this is not what they allowed: not where other questions came after theirs. */
  mayAsk: boolean
  /** Why it does not run, whatever it is. */
  refusal?: string
}

interface Outcome extends ToolOutcome {
  /** As the caller is told it, unless the call is history. */
  part?: ToolRun | ApprovalPart
}

const resultOf = ({ id, name }: ToolCall, { text, isError }: Outcome): ToolResult => ({
  ...{ type: 'tool-result', id, name, isError },
  content: [{ type: 'text', text }],
})

const NOT_MADE = 'This call was not made.'

const failure = (text: string): Outcome => ({ text, isError: true })

/** Runs a call if it is the one that the person was asked about, and asks about it anew where it is not. */
async function runAllowed(
  { call: { id, name, input: json, signature }, mayAsk, refusal }: AllowedCall,
  tools: readonly FunctionTool[],
  { signal, begin }: { signal: AbortSignal; begin: (start: ToolStart) => void },
): Promise<Outcome> {
  const tool = tools.find((known) => known.name === name)
  const server = tool?.approval?.server ?? ''
  const proof = signature && { signature }
  const shown = { id, tool: name, server, ...proof }
  const told = (outcome: Outcome, input: unknown = tryParseJson(json) ?? json): Outcome => ({
    ...outcome,
    part: { type: 'tool-run', ...shown, input, output: outcome.text, isError: outcome.isError },
  })
  if (refusal) return told(failure(refusal))
  if (!tool?.approval) return told(failure('There is no such tool about which the person is asked.'))
  const given = tool.input.safeParse(parseArguments(json))
  if (!given.success) return told(failure(describeInvalidInput(given.error)))
  const run = async () => {
    const outcome = await runTool(tool, json, signal, () => begin({ type: 'tool-start', ...shown, input: given.data }))
    return outcome.isError && signal.aborted ? UNKNOWN : outcome
  }
  const outcome = await tool.approval.runOnce(given.data, id, { run, signal })
  if (outcome) return told(outcome, given.data)
  if (!mayAsk) return failure(NOT_MADE)
  const question = await tool.approval.question(given.data)
  if (question)
    return { ...failure('The person is asked whether this tool may be called.'), part: { ...question, ...proof } }
  return told(await run(), given.data)
}
