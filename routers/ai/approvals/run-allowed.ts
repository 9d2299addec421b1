import type { ApprovalPart, ToolOutcome, ToolRun, ToolStart } from '../../ports/ai/approvals.ts'
import type { ToolCall, ToolResult } from '../../ports/ai/messages.ts'
import { argumentsIn, explainMisfit, parsed, runTool } from '../../ports/ai/tool-calls.ts'
import type { FunctionTool } from '../../ports/ai/tools.ts'
import { UNKNOWN } from './kept-outcomes.ts'

export interface AllowedCall {
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

export const resultOf = ({ id, name }: ToolCall, { text, isError }: Outcome): ToolResult => ({
  ...{ type: 'tool-result', id, name, isError },
  content: [{ type: 'text', text }],
})

export const NOT_MADE = 'This call was not made.'

const failure = (text: string): Outcome => ({ text, isError: true })

/** Runs a call if it is the one that the person was asked about, and asks about it anew where it is not. */
export async function runAllowed(
  { call: { id, name, input: json, signature }, mayAsk, refusal }: AllowedCall,
  tools: readonly FunctionTool[],
  { signal, begin }: { signal: AbortSignal; begin: (start: ToolStart) => void },
): Promise<Outcome> {
  const tool = tools.find((known) => known.name === name)
  const server = tool?.approval?.server ?? ''
  const proof = signature && { signature }
  const shown = { id, tool: name, server, ...proof }
  const told = (outcome: Outcome, input: unknown = parsed(json) ?? json): Outcome => ({
    ...outcome,
    part: { type: 'tool-run', ...shown, input, output: outcome.text, isError: outcome.isError },
  })
  if (refusal) return told(failure(refusal))
  if (!tool?.approval) return told(failure('There is no such tool about which the person is asked.'))
  const given = tool.input.safeParse(argumentsIn(json))
  if (!given.success) return told(failure(explainMisfit(given.error)))
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
