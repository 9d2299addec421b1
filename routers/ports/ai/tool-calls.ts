import { z } from 'zod'
import { traceWork } from '../traces.ts'
import { ToolFailure } from './tool-servers.ts'
import type { FunctionTool, ToolOutcome } from './tools.ts'

/** More than any model has use for. */
export const MAX_CALLS_A_ROUND = 64

/** What a model wrote as arguments, which need not be JSON. */
export function tryParseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** What a model wrote as the arguments of a call: nothing is an empty object of them. */
export const parseArguments = (text: string): unknown => (text.trim() === '' ? {} : tryParseJson(text))

/** Anthropic's word for arguments that are no object. */
export const INVALID_ARGUMENTS = 'INVALID_JSON'

/**
 * What a model is told of a value: a text as it is, and all else as JSON. A function, and a value that says it has no JSON, is
 * `null`, as it is within a list.
 */
export const toResultText = (value: unknown): string =>
  typeof value === 'string' ? value : ((JSON.stringify(value) as string | undefined) ?? 'null')

/** What a model is told of an input that is no JSON, or not such as the tool takes. */
export const describeInvalidInput = (error: z.ZodError): string =>
  `The input must be a JSON object of the schema of the tool.\n${z.prettifyError(error)}`

/** Runs a tool with what a model wrote. Fails never. */
export function runTool(
  tool: FunctionTool,
  json: string,
  signal: AbortSignal,
  begin?: () => void,
): Promise<ToolOutcome> {
  const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool.name }
  return traceWork(`execute_tool ${tool.name}`, { attributes }, async (span) => {
    const outcome = await checkAndRun(tool, json, signal, begin)
    if (outcome.isError) span?.fail({ problem: 'tool_failed' })
    return outcome
  })
}

async function checkAndRun(
  tool: FunctionTool,
  json: string,
  signal: AbortSignal,
  begin: (() => void) | undefined,
): Promise<ToolOutcome> {
  try {
    const given = tool.input.safeParse(parseArguments(json))
    if (!given.success) return { text: describeInvalidInput(given.error), isError: true }
    const told: unknown = await tool.run(given.data, signal, begin)
    const isError = told instanceof ToolFailure
    return { text: toResultText(isError ? told.error : told), isError }
  } catch {
    return { text: 'The tool failed.', isError: true }
  }
}
