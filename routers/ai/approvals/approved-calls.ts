import type { Message, ToolCall, ToolResult } from '../../ports/ai/messages.ts'
import type { AnswerPart, ModelAnswer, ModelCall, ModelGateway } from '../../ports/ai/models.ts'
import { estimateTokens } from '../../ports/ai/token-estimate.ts'
import { describeInvalidInput, MAX_CALLS_A_ROUND, parseArguments, runTool } from '../../ports/ai/tool-calls.ts'
import type { ApprovalPart, FunctionTool, ToolOutcome, ToolRun, ToolStart } from '../../ports/ai/tools.ts'
import type { UsageMeter } from '../../ports/ai/usage-meter.ts'
import { tryParseJson } from '../../ports/json.ts'
import type { ToolApproval } from '../request/parts.ts'
import type { ResolvedMessage } from '../request/request.ts'
import { UNKNOWN_RESULT } from './tool-results.ts'

const TOO_MANY_CALLS = `More than ${MAX_CALLS_A_ROUND} tools were allowed at once.`

type Models = Pick<ModelGateway, 'generate' | 'stream'>
type QuestionCloser = { refuse(id: string): Promise<void> }

/** Calls that the previous answer asked about at its end. Approved calls run before the model continues. */
export class ApprovedCalls {
  readonly #questions: QuestionCloser
  /** Approved calls by the result that each of them will replace. */
  readonly #approved = new Map<ToolResult, ApprovedCall>()
  readonly #refusedIds: string[] = []
  /** Returns the tools of the model, whether or not it may call any in this answer. */
  #listTools: () => readonly FunctionTool[] = () => []
  readonly #runner = new ApprovedCallRunner()
  #results: Promise<CallResults> | undefined

  constructor(questions: QuestionCloser) {
    this.#questions = questions
  }

  /**
   * Replaces each of the person's answers by a tool result. Results of approved calls are placeholders until the calls
   * have run.
   */
  insertResults(messages: readonly ResolvedMessage[], tools = this.#listTools): readonly Message[] {
    if (messages.every(hasNoApproval)) return messages
    this.#listTools = tools
    const parts = messages.flatMap(({ content }): readonly ResolvedMessage['content'][number][] => content)
    const calls = new Map(parts.flatMap((part) => (part.type === 'tool-call' ? [[part.id, part]] : [])))
    const answeredIds = new Set(parts.flatMap((part) => (part.type === 'tool-result' ? part.id : [])))
    const [begin, end] = findQuestionRange(messages)
    return messages.flatMap((message, at): Message[] => {
      if (message.role !== 'tool') return [message]
      const content = message.content.flatMap((part) => {
        if (part.type === 'tool-result') return part
        const call = calls.get(part.id)
        // A call with a result has already run.
        return call && !answeredIds.has(part.id)
          ? this.#createResult(part, { call, canAskAgain: at > end }, at > begin)
          : []
      })
      return content.length > 0 ? [{ role: 'tool', content }] : []
    })
  }

  #createResult({ id, allow, reason }: ToolApproval, approvedCall: ApprovedCall, isCurrent: boolean): ToolResult {
    const isFull = this.#approved.size + this.#refusedIds.length >= MAX_CALLS_A_ROUND
    const refusal = `The person does not allow this call.${reason ? ` They say: ${reason}` : ''}`
    const result = createResult(approvedCall.call, { text: allow ? CALL_NOT_MADE : refusal, isError: true })
    if (isCurrent && allow)
      this.#approved.set(result, isFull ? { ...approvedCall, refusal: TOO_MANY_CALLS } : approvedCall)
    if (isCurrent && !allow && !isFull) this.#refusedIds.push(id)
    return result
  }

  /** Outcomes of the calls so far, in the order in which they finished. */
  get parts(): readonly OutcomePart[] {
    return this.#runner.parts
  }

  /**
   * Runs the approved calls, then asks the model. A call that needs a new question ends the answer before the model is
   * asked.
   */
  async generate(models: Models, call: ModelCall, meter: UsageMeter): Promise<ModelAnswer> {
    if (this.#hasNoAnswers) return models.generate(call, meter)
    const results = await this.#collectResults(call)
    if (this.#runner.hasNewQuestion) return { content: this.#runner.parts, finish: 'tool-calls' }
    const answer = await models.generate(withResults(call, results), meter)
    return { ...answer, content: [...this.#runner.parts, ...answer.content] }
  }

  /** Does the same as a stream. */
  stream(models: Models, call: ModelCall, meter: UsageMeter): AsyncIterable<readonly AnswerPart[]> {
    return this.#hasNoAnswers ? models.stream(call, meter) : this.#stream(models, call, meter)
  }

  async *#stream(models: Models, call: ModelCall, meter: UsageMeter): AsyncGenerator<readonly AnswerPart[], void> {
    const running = this.#collectResults(call)
    yield* this.#runner.streamUntil(running)
    const results = await running
    if (this.#runner.hasNewQuestion) yield [{ type: 'finish', reason: 'tool-calls' }]
    else yield* models.stream(withResults(call, results), meter)
  }

  get #hasNoAnswers(): boolean {
    return this.#approved.size + this.#refusedIds.length === 0
  }

  /** Runs the calls only once, even if a fallback model repeats the request. */
  #collectResults(call: ModelCall): Promise<CallResults> {
    this.#results ??= this.#refuseAndRun(call)
    return this.#results
  }

  async #refuseAndRun(call: ModelCall): Promise<CallResults> {
    await Promise.all(this.#refusedIds.map((id) => this.#questions.refuse(id)))
    return this.#runner.run(this.#approved, this.#listTools(), call)
  }
}

/** True if the message has no answer of the person, as most messages. */
const hasNoApproval = (message: ResolvedMessage): message is Message =>
  message.role !== 'tool' || message.content.every(({ type }) => type === 'tool-result')

/**
 * Returns the index before the first message of the last questions, and the index of their last assistant message. A
 * client may put each answer right after its question.
 */
function findQuestionRange(messages: readonly ResolvedMessage[]): [begin: number, end: number] {
  const parts = messages.flatMap(({ content }): readonly ResolvedMessage['content'][number][] => content)
  const approvalIds = new Set(parts.flatMap((part) => (part.type === 'tool-approval' ? part.id : [])))
  const isOther = ({ content }: ResolvedMessage) =>
    content.some((part) => (part.type === 'tool-call' ? !approvalIds.has(part.id) : part.type !== 'tool-approval'))
  const end = messages.findLastIndex(({ role }) => role === 'assistant')
  return [messages.slice(0, end + 1).findLastIndex(isOther), end]
}

const withResults = (call: ModelCall, { messages, tokens }: CallResults): ModelCall => ({
  ...call,
  messages,
  inputTokens: call.inputTokens + tokens,
})

type OutcomePart = ToolRun | ApprovalPart

interface CallResults {
  messages: Message[]
  /** Estimated tokens of the results. */
  tokens: number
}

/** Runs the calls that the person approved. */
export class ApprovedCallRunner {
  /** Outcomes in the order in which the calls finished. */
  readonly parts: OutcomePart[] = []
  /** Parts that the stream has not yielded yet. */
  readonly #unsentParts: (OutcomePart | ToolStart)[] = []
  #partArrived = Promise.withResolvers<boolean>()

  /** True if a call needs a new question. */
  get hasNewQuestion(): boolean {
    return this.parts.some(({ type }) => type === 'approval')
  }

  /**
   * Runs at most `toolsAtOnce` calls concurrently. If one throws, no further call starts; those under way finish first.
   */
  async run(
    approvedCalls: ReadonlyMap<ToolResult, ApprovedCall>,
    tools: readonly FunctionTool[],
    { messages, toolsAtOnce, signal }: Pick<ModelCall, 'messages' | 'toolsAtOnce' | 'signal'>,
  ): Promise<CallResults> {
    const results = new Map<ToolResult, ToolResult>()
    const queue = approvedCalls.entries()
    const failures: unknown[] = []
    let tokens = 0
    const runQueue = async () => {
      for (const [empty, approvedCall] of queue) {
        if (failures.length > 0) return
        signal.throwIfAborted()
        const outcome = await runApprovedCall(approvedCall, tools, { signal, onStart: (part) => this.#publish(part) })
        this.#addPart(outcome.part)
        tokens += estimateTokens(outcome.text)
        results.set(empty, createResult(approvedCall.call, outcome))
      }
    }
    const addFailure = (error: unknown) => void failures.push(error)
    await Promise.all(Array.from({ length: toolsAtOnce }, () => runQueue().catch(addFailure)))
    if (failures.length > 0) throw failures[0]
    return { messages: messages.map((message) => replaceResults(message, results)), tokens }
  }

  #addPart(part: OutcomePart | undefined): void {
    if (!part) return
    this.parts.push(part)
    this.#publish(part)
  }

  #publish(part: OutcomePart | ToolStart): void {
    this.#unsentParts.push(part)
    this.#partArrived.resolve(false)
  }

  /**
   * Yields each outcome once as it arrives, even if a fallback model repeats the request. Ends with the runs, whether
   * or not they succeed.
   */
  async *streamUntil(running: Promise<CallResults>): AsyncGenerator<readonly (OutcomePart | ToolStart)[], void> {
    const finished = running.then(
      () => true,
      () => true,
    )
    for (let isFinished = false; !isFinished; ) {
      isFinished = await Promise.race([finished, this.#partArrived.promise])
      this.#partArrived = Promise.withResolvers()
      if (this.#unsentParts.length > 0) yield this.#unsentParts.splice(0)
    }
  }
}

const replaceResults = (message: Message, results: ReadonlyMap<unknown, ToolResult>): Message =>
  message.role === 'tool' ? { ...message, content: message.content.map((part) => results.get(part) ?? part) } : message

interface ApprovedCall {
  call: ToolCall
  /**
   * True if the person may be asked again when the call differs from what they approved. False if later questions
   * followed.
   */
  canAskAgain: boolean
  /** Reason why the call must not run. */
  refusal?: string
}

interface CallOutcome extends ToolOutcome {
  /** Part that reports the outcome to the caller; absent for calls of earlier turns. */
  part?: ToolRun | ApprovalPart
}

const createResult = ({ id, name }: ToolCall, { text, isError }: CallOutcome): ToolResult => ({
  type: 'tool-result',
  id,
  name,
  isError,
  content: [{ type: 'text', text }],
})

const CALL_NOT_MADE = 'This call was not made.'

const toFailure = (text: string): CallOutcome => ({ text, isError: true })

/** Runs a call that matches its question. Asks again if it does not match. */
async function runApprovedCall(
  { call: { id, name, input: json, signature }, canAskAgain, refusal }: ApprovedCall,
  tools: readonly FunctionTool[],
  { signal, onStart }: { signal: AbortSignal; onStart: (start: ToolStart) => void },
): Promise<CallOutcome> {
  const tool = tools.find((known) => known.name === name)
  const server = tool?.approval?.server ?? ''
  const signatureField = signature && { signature }
  const publicCall = { id, tool: name, server, ...signatureField }
  const withRunPart = (outcome: CallOutcome, input: unknown = tryParseJson(json) ?? json): CallOutcome => ({
    ...outcome,
    part: { type: 'tool-run', ...publicCall, input, output: outcome.text, isError: outcome.isError },
  })
  if (refusal) return withRunPart(toFailure(refusal))
  if (!tool?.approval) return withRunPart(toFailure('There is no such tool about which the person is asked.'))
  const parsedInput = tool.input.safeParse(parseArguments(json))
  if (!parsedInput.success) {
    tool.noteInvalid?.()
    return withRunPart(toFailure(describeInvalidInput(parsedInput.error)))
  }
  const run = async () => {
    const outcome = await runTool(tool, json, signal, () =>
      onStart({ type: 'tool-start', ...publicCall, input: parsedInput.data }),
    )
    return outcome.isError && signal.aborted ? UNKNOWN_RESULT : outcome
  }
  const outcome = await tool.approval.runOnce(parsedInput.data, id, { run, signal })
  if (outcome) return withRunPart(outcome, parsedInput.data)
  if (!canAskAgain) return toFailure(CALL_NOT_MADE)
  const question = await tool.approval.question(parsedInput.data)
  if (question)
    return {
      ...toFailure('The person is asked whether this tool may be called.'),
      part: { ...question, ...signatureField },
    }
  return withRunPart(await run(), parsedInput.data)
}
