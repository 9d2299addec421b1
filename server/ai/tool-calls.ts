import type { LanguageModelV4ToolCall, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import { unlessEnded } from '../../routers/core/timeout.ts'
import type { ApprovalPart } from '../../routers/ports/ai/approvals.ts'
import type { ModelCall } from '../../routers/ports/ai/models.ts'
import { argumentsIn, MAX_CALLS_A_ROUND, runTool } from '../../routers/ports/ai/tool-calls.ts'
import { withoutMarks } from './prompt/meta-blocks.ts'
import { proofOf } from './said.ts'

type Call = Pick<LanguageModelV4ToolCall, 'toolCallId' | 'toolName' | 'input' | 'providerMetadata'>
type Result = LanguageModelV4ToolResultPart

/** Runs the tools that a model asked for in one round, so many of them at the same time; the others wait. */
export async function runTools(
  calls: readonly Call[],
  { tools, toolsAtOnce }: Pick<ModelCall, 'tools' | 'toolsAtOnce'>,
  signal: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = []
  const waiting = calls.entries()
  const work = async () => {
    for (const [at, call] of waiting) {
      if (signal.aborted) return
      results[at] = resultOf(call, at < MAX_CALLS_A_ROUND ? await outputOf(call, tools, signal) : tooMany)
    }
  }
  await unlessEnded(() => Promise.all(Array.from({ length: toolsAtOnce }, work)), signal)
  return results
}

/** The calls of one round that are fit to run; an allowance of the person may still be wanting. */
export const runnable = <Asked extends Call>(calls: readonly Asked[], tools: ModelCall['tools']): Asked[] =>
  calls.slice(0, MAX_CALLS_A_ROUND).filter(({ toolName, input }) => {
    const tool = tools.find(({ name }) => name === toolName)
    return tool?.input.safeParse(argumentsIn(input)).success
  })

/** What the person is asked before calls run that are fit to run. */
export async function questionsOf(calls: readonly Call[], tools: ModelCall['tools']): Promise<ApprovalPart[]> {
  const asking = calls.slice(0, MAX_CALLS_A_ROUND).map(async ({ toolName, input, ...call }) => {
    const tool = tools.find(({ name }) => name === toolName)
    const given = tool?.approval && tool.input.safeParse(argumentsIn(input))
    const question = given?.success ? await tool?.approval?.question(given.data) : undefined
    return question && { ...question, ...proofOf(call) }
  })
  return (await Promise.all(asking)).filter((question) => question !== undefined)
}

const resultOf = ({ toolCallId, toolName }: Call, output: Result['output']): Result => ({
  ...{ type: 'tool-result', toolCallId, toolName, output },
})

const failure = (value: string): Result['output'] => ({ type: 'error-text', value })

const tooMany = failure(`More than ${MAX_CALLS_A_ROUND} tools were called at once.`)

async function outputOf({ toolName, input }: Call, tools: ModelCall['tools'], signal: AbortSignal) {
  const tool = tools.find(({ name }) => name === toolName)
  if (!tool) return failure('There is no such tool.')
  const { text, isError } = await runTool(tool, input, signal)
  // What a tool says may quote anybody.
  const value = withoutMarks(text)
  return isError ? failure(value) : { type: 'text' as const, value }
}
