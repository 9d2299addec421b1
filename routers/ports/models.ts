import type { z } from 'zod'
import type { CallableModelRow } from '../../entities/catalogue/ai-model.sql.ts'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'

/** A function that models may call. Its result goes back to the model as JSON. */
export interface FunctionTool<Input extends z.ZodType = z.ZodType> {
  name: string
  description: string
  /** The arguments; what a model sends is parsed with it before `run` sees it. */
  input: Input
  capability?: string
  run(input: z.output<Input>, signal: AbortSignal): unknown
}

export interface Message {
  role: 'system' | 'user' | 'assistant'
  text: string
}

/** A model as a call needs it, in one row. */
export type CallableModel = DeepReadonly<CallableModelRow>

export interface ModelCall {
  model: CallableModel
  messages: readonly Message[]
  tools: readonly FunctionTool[]
  /** The provider is told to answer with no more; where none is set, what the model itself says holds. */
  maxOutputTokens?: number | undefined
  /** Who asks. */
  userId: number
  /** Ends when the caller goes away, or the time for the whole call is up. */
  signal: AbortSignal
}

/** Tokens of one request as the provider counts them; undefined where it does not. */
export interface ReportedTokens {
  /** With the cached ones. */
  input?: number | undefined
  /** With reasoning. */
  output?: number | undefined
  cached?: number | undefined
  cacheWrite?: number | undefined
  reasoning?: number | undefined
}

/** Hears what a call takes while it runs, so that it is counted however it ends. */
export interface UsageMeter {
  /**
   * A request goes to the provider, or must not where this throws. What it holds is counted by us where the provider does
   * not say.
   */
  begin(prompt: () => string): Promise<void>
  /** The request failed at the provider: where nothing came of it, it took nothing. */
  fail(): void
  /** What the request has taken so far, up to and with the piece that comes next; nothing where the piece says nothing. */
  report(tokens: ReportedTokens | undefined): void
  /** A piece of what the provider sent. */
  receive(text: string, kind: 'answer' | 'reasoning'): void
}

/** The AI providers behind one small interface. Failures are thrown as they came; nobody outside may see them. */
export interface ModelGateway {
  generate(call: ModelCall, meter: UsageMeter): Promise<string>
  /** The text in pieces, as they come; those that came at once together. */
  stream(call: ModelCall, meter: UsageMeter): AsyncIterable<readonly string[]>
  /** Whether the provider's API offers the model now; throws where it does not answer. */
  available(model: CallableModel): Promise<boolean>
}
