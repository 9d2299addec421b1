import { z } from 'zod'
import type { ApprovalPart, ToolRun } from '../../ports/ai/approvals.ts'
import type { ToolCall, ToolResult } from '../../ports/ai/messages.ts'
import type { FunctionTool, ModelCall } from '../../ports/ai/models.ts'
import { ToolFailure } from '../../ports/ai/tool-servers.ts'

export interface AllowedCall {
  call: ToolCall
  /** Whether the person is asked anew where this is not what they allowed: not where other questions came after theirs. */
  mayAsk: boolean
}

interface Outcome {
  /** As the model is told it. */
  text: string
  isError: boolean
  /** As the caller is told it. */
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
  { call: { id, name, input: json }, mayAsk }: AllowedCall,
  { tools, signal }: Pick<ModelCall, 'tools' | 'signal'>,
): Promise<Outcome> {
  const tool = tools.find((known) => known.name === name)
  if (!tool?.asks) return failure('There is no such tool about which the person is asked.')
  const given = tool.input.safeParse(parsed(json))
  if (!given.success) return failure(z.prettifyError(given.error))
  const input = given.data
  const isAllowed = await tool.asks.allows(input, id)
  if (!isAllowed && !mayAsk) return failure(NOT_MADE)
  const question = isAllowed ? undefined : await tool.asks.question(input)
  if (question) return { ...failure('The person is asked whether this tool may be called.'), part: question }
  const { text, isError } = await outcomeOf(tool, input, signal)
  const { server } = tool.asks
  return { text, isError, part: { type: 'tool-run', id, tool: name, server, input, output: text, isError } }
}

async function outcomeOf(tool: FunctionTool, input: unknown, signal: AbortSignal): Promise<Outcome> {
  try {
    const told: unknown = (await tool.run(input, signal)) ?? null
    const isError = told instanceof ToolFailure
    const output = isError ? told.error : told
    return { text: typeof output === 'string' ? output : JSON.stringify(output), isError }
  } catch {
    return failure('The tool failed.')
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
