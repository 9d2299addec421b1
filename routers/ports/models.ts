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
  /** Who asks. */
  userId: number
  /** Ends when the caller goes away, or the time for the whole call is up. */
  signal: AbortSignal
}

/** Tokens as the provider counted them; undefined where it did not. Reasoning is part of the output. */
export interface TokenCounts {
  input?: number | undefined
  output?: number | undefined
  cached?: number | undefined
  reasoning?: number | undefined
}

/** Hears after each round with the provider what the call has taken so far, so that a call which fails later is counted, too. */
export type OnUsage = (tokens: TokenCounts) => void

/** The AI providers behind one small interface. Failures are thrown as they came; nobody outside may see them. */
export interface ModelGateway {
  generate(call: ModelCall, onUsage: OnUsage): Promise<string>
  /** The text in pieces, as they come; those that came at once together. */
  stream(call: ModelCall, onUsage: OnUsage): AsyncIterable<readonly string[]>
  /** Whether the provider's API offers the model now; throws where it does not answer. */
  available(model: CallableModel): Promise<boolean>
}
