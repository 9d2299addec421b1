import { z } from 'zod'
import { tryParseJson } from '../json.ts'
import { traceWork } from '../traces.ts'
import { MAX_INPUT_ISSUES } from './json-schema.ts'
import { ToolFailure } from './tool-servers.ts'
import type { FunctionTool, ToolOutcome } from './tools.ts'

/** No model needs more. */
export const MAX_CALLS_A_ROUND = 64

/** Parses the arguments of a call, which may be invalid JSON; an empty text means an empty object. */
export const parseArguments = (text: string): unknown => (text.trim() === '' ? {} : tryParseJson(text))

/** Anthropic's name for arguments that are no object. */
export const INVALID_ARGUMENTS = 'INVALID_JSON'

/**
 * Converts a result to text for the model: texts unchanged, everything else as JSON. A value without JSON becomes
 * `null`, as in an array.
 */
export const toResultText = (value: unknown): string =>
  typeof value === 'string' ? value : ((JSON.stringify(value) as string | undefined) ?? 'null')

/** Maximum length of the explanation of invalid input, which quotes names in it. */
const MAX_EXPLANATION = 4000

/** Explains to the model why its input is invalid. */
export function describeInvalidInput({ issues }: z.ZodError): string {
  const explanation = z.prettifyError(new z.ZodError(issues.slice(0, MAX_INPUT_ISSUES)))
  const text = `The input must be a JSON object of the schema of the tool.\n${explanation}`
  return text.length > MAX_EXPLANATION ? `${text.slice(0, MAX_EXPLANATION).toWellFormed()}…` : text
}

/** Runs a tool with the model's arguments. Never throws. */
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
    const parsed = tool.input.safeParse(parseArguments(json))
    if (!parsed.success) {
      tool.noteInvalid?.()
      return { text: describeInvalidInput(parsed.error), isError: true }
    }
    const result: unknown = await tool.run(parsed.data, signal, begin)
    const isError = result instanceof ToolFailure
    return { text: toResultText(isError ? result.error : result), isError }
  } catch {
    return { text: 'The tool failed.', isError: true }
  }
}
