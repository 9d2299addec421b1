import type { z } from 'zod'
import type { ClientToolType, NativeTool } from './adapters.ts'
import type { CacheMark } from './messages.ts'

/** A tool call as it is shown to the person. */
interface DisplayedToolCall {
  /** The id of the question. */
  id: string
  tool: string
  /** The label of its server; empty if the tool of an approved call no longer exists. */
  server: string
  input: unknown
  /** The provider's signature of the call, which it requires with the result. */
  signature?: string | undefined
}

/** A request for approval of a tool call. */
export interface ApprovalPart extends DisplayedToolCall {
  type: 'approval'
}

/** The start of a tool call that was approved beforehand; its `ToolRun` follows. */
export interface ToolStart extends DisplayedToolCall {
  type: 'tool-start'
}

/** A tool call that was approved beforehand, with its result for the model. */
export interface ToolRun extends DisplayedToolCall {
  type: 'tool-run'
  output: string
  isError: boolean
}

/** Result of a tool call for the model. */
export interface ToolOutcome {
  text: string
  isError: boolean
}

/** A call that may run once. */
export interface SingleRun {
  run: () => Promise<ToolOutcome>
  /** Aborts the wait for a run that another request has started. */
  signal: AbortSignal
}

/** A function that models may call. Its result goes back to the model as text or JSON. */
export interface FunctionTool<Input extends z.ZodType = z.ZodType> {
  name: string
  description: string
  /** Schema of the arguments, which are parsed with it before `run` gets them. */
  input: Input
  /** JSON schema of the arguments for the model, if it is not derived from `input`. */
  schema?: Record<string, unknown>
  capability?: string
  /** Set if the person must approve each call. */
  approval?: {
    /** The label of its server. */
    server: string
    /**
     * Runs an approved call once, and returns the same result to repeated requests. Returns undefined if this question
     * was not approved.
     */
    runOnce(input: z.output<Input>, question: string, call: SingleRun): Promise<ToolOutcome | undefined>
    /** Creates the approval request that ends the answer; undefined if the tool must be run, which may refuse. */
    question(input: z.output<Input>): Promise<ApprovalPart | undefined>
  }
  /** Is called with a call whose input does not match the schema, and which therefore does not run. */
  noteInvalid?(): void
  /** Runs the tool; calls `begin` once the call is allowed. A tool that needs no approval need not call it. */
  run(input: z.output<Input>, signal: AbortSignal, begin?: () => void): unknown
}

/** A function that the caller runs: the model's call of it ends the answer. */
export interface CallerTool {
  name: string
  description?: string | undefined
  /** The JSON schema of its arguments. */
  inputSchema: JsonSchema
  /** True if the provider must enforce the schema. */
  strict?: boolean | undefined
  /** Set for a tool that models of Anthropic know without a schema. */
  clientTool?: ClientTool | undefined
  cache?: CacheMark | undefined
}

/** A tool that models of a provider know, and that the caller runs. */
export interface ClientTool {
  type: ClientToolType
  options: Readonly<Record<string, string | number | boolean>>
}

export type JsonSchema = Readonly<Record<string, unknown>>

/** Tool choice: the model may, must or must not call a tool, or must call a certain one of the caller or the provider. */
export type ToolChoice = 'auto' | 'required' | 'none' | { name: string } | { native: NativeTool }

/** Returns the provider's tool that the model must call. */
export const readForcedNativeTool = (choice: ToolChoice | undefined): NativeTool | undefined =>
  typeof choice === 'object' && 'native' in choice ? choice.native : undefined

export const isToolCallRequired = (choice: ToolChoice = 'auto'): boolean => choice !== 'auto' && choice !== 'none'
