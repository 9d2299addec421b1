import type { z } from 'zod'

/** A call of a tool as the person is shown it. */
interface DisplayedToolCall {
  /** Of the question. */
  id: string
  tool: string
  /** The label of its server; empty where the tool of an allowed call is gone. */
  server: string
  input: unknown
  /** The provider's proof of the call, which it wants back with the result. */
  signature?: string | undefined
}

/** Asks the person whether a tool may be called, with what. */
export interface ApprovalPart extends DisplayedToolCall {
  type: 'approval'
}

/** A call that the person allowed beforehand, and which begins now; its `ToolRun` follows. */
export interface ToolStart extends DisplayedToolCall {
  type: 'tool-start'
}

/** A call that the person allowed beforehand, and what came of it as the model is told it. */
export interface ToolRun extends DisplayedToolCall {
  type: 'tool-run'
  output: string
  isError: boolean
}

/** What came of a call, as the model is told it. */
export interface ToolOutcome {
  text: string
  isError: boolean
}

/** A call that may run once. */
export interface SingleRun {
  run: () => Promise<ToolOutcome>
  /** Ends the wait for a run that another request began. */
  signal: AbortSignal
}

/** A function that models may call. Its result goes back to the model as a text, or as JSON where it is none. */
export interface FunctionTool<Input extends z.ZodType = z.ZodType> {
  name: string
  description: string
  /** The arguments; what a model sends is parsed with it before `run` sees it. */
  input: Input
  /** The arguments as a model is told them, where that is not made from `input`: a JSON schema. */
  schema?: Record<string, unknown>
  capability?: string
  /** Where the person must allow each call. */
  approval?: {
    /** The label of its server. */
    server: string
    /**
     * What comes of the call where the person answered this very question about it with yes: it runs once, and who asks again is
     * told the same, when it has run. Undefined where they did not.
     */
    runOnce(input: z.output<Input>, question: string, call: SingleRun): Promise<ToolOutcome | undefined>
    /** The question by which the answer is to end; undefined where the tool is to be run, which may refuse. */
    question(input: z.output<Input>): Promise<ApprovalPart | undefined>
  }
  /** `begin` is called where the call may run, before it does; a tool that asks nobody need not call it. */
  run(input: z.output<Input>, signal: AbortSignal, begin?: () => void): unknown
}

/** A function that the caller runs: the model's call of it is handed out, and ends the answer. */
export interface CallerTool {
  name: string
  description?: string | undefined
  /** The JSON schema of its arguments. */
  inputSchema: JsonSchema
  /** Whether the provider is to hold the model to the schema. */
  strict?: boolean | undefined
}

export type JsonSchema = Readonly<Record<string, unknown>>

/** Whether the model may, must or must not call a tool, or which one it must call. */
export type ToolChoice = 'auto' | 'required' | 'none' | { name: string }

export const isToolCallRequired = (choice: ToolChoice = 'auto'): boolean => choice !== 'auto' && choice !== 'none'
