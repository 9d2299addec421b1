/** A call of a tool as the person is shown it. */
interface ShownCall {
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
export interface ApprovalPart extends ShownCall {
  type: 'approval'
}

/** A call that the person allowed beforehand, and which begins now; its `ToolRun` follows. */
export interface ToolStart extends ShownCall {
  type: 'tool-start'
}

/** A call that the person allowed beforehand, and what came of it as the model is told it. */
export interface ToolRun extends ShownCall {
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
export interface RunOnce {
  run: () => Promise<ToolOutcome>
  /** Ends the wait for a run that another request began. */
  signal: AbortSignal
}
