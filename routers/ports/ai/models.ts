import type { CallableModelRow } from '../../../entities/catalogue/ai-model.sql.ts'
import type { DeepReadonly } from '../../../entities/sql/read-only.ts'
import type { NativeTool } from './adapters.ts'
import type { AssistantPart, Message, Reasoning, Source, ToolCall } from './messages.ts'
import type { Price } from './price-list.ts'
import type { ApprovalPart, CallerTool, FunctionTool, JsonSchema, ToolChoice, ToolRun, ToolStart } from './tools.ts'
import type { UsageMeter } from './usage-meter.ts'

/** What the caller sets for one call; the model's own parameters hold for the rest. */
export interface CallParameters {
  temperature?: number | undefined
  topP?: number | undefined
  /** The longest answer in tokens. */
  maxTokens?: number | undefined
  maxThinkingTokens?: number | undefined
  /** How hard a model that reasons is to think. */
  effort?: Effort | undefined
  /** Whether a model that takes no effort is asked without one. */
  isEffortOptional?: boolean | undefined
  /** The model is to decide itself whether and how much it thinks. */
  thinking?: 'adaptive' | undefined
  /** The model is to tell its thoughts, how briefly. */
  thoughts?: 'auto' | 'concise' | 'detailed' | undefined
  topK?: number | undefined
  presencePenalty?: number | undefined
  frequencyPenalty?: number | undefined
  verbosity?: 'low' | 'medium' | 'high' | undefined
  /** What servers of open models are to fill into the template of the model, such as whether it thinks. */
  templateOptions?: Readonly<Record<string, unknown>> | undefined
  /** The name by which the caller says `maxTokens`, for providers of that API. */
  maxTokensName?: 'max_completion_tokens' | undefined
  seed?: number | undefined
  stop?: readonly string[] | undefined
  /** Whether the model may call several tools at once. */
  parallelTools?: boolean | undefined
}

/** A parameter of which models that do not have it may be asked without it. */
export type HintParameter = 'topK' | 'presencePenalty' | 'frequencyPenalty' | 'verbosity' | 'templateOptions'

/** A parameter that would not reach the provider as the caller sets it; `schema` is that of the answer. */
export interface UnsentParameter {
  name: keyof CallParameters | 'toolChoice' | 'schema'
  /** The value that it would have instead, as it is too high for the model. */
  max?: number
  /** Whether the model takes it where the others are not set. */
  isAcceptedAlone?: boolean
}

/** What beside the parameters of a request decides which of them are sent. */
export interface ParameterContext {
  hasTools: boolean
  /** Whether the model must call one. */
  isForced: boolean
  /** Of the JSON that the answer is to be. */
  schema: JsonSchema | undefined
  /** What the model said first in the turn that goes on with the results of tools; empty where none does. */
  assistantPrefix: readonly AssistantPart[]
}

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof efforts)[number]

/** The answer is to be JSON, of a schema where there is one. */
export interface JsonFormat {
  name?: string | undefined
  description?: string | undefined
  schema?: JsonSchema | undefined
  /** Whether the provider is to hold the model to the schema. */
  strict?: boolean | undefined
}

/** A model as a call needs it, in one row. */
export type CallableModel = DeepReadonly<CallableModelRow>

/** A provider as a call needs it. */
export type CallableProvider = Pick<
  CallableModel,
  'providerId' | 'adapter' | 'apiUrl' | 'apiKey' | 'servers' | 'providerSettings'
>

/** The images of a request, the pages of its documents, and what our estimate of its input has for them, in tokens. */
export interface FileEstimate {
  images: number
  pages: number
  estimate: number
}

export const noFiles: FileEstimate = { images: 0, pages: 0, estimate: 0 }

export interface ModelCall {
  model: CallableModel
  messages: readonly Message[]
  /** Our estimate of what messages and tools take, in tokens and parts of one. */
  inputTokens: number
  /** Of which providers may count more than that. */
  files: FileEstimate
  /** Run by the service. */
  tools: readonly FunctionTool[]
  /** How many of them run at the same time; further ones wait. */
  toolsAtOnce: number
  /** Run by the caller. */
  callerTools: readonly CallerTool[]
  /** Run by the provider. */
  nativeTools: readonly NativeTool[]
  /** How often each of them may run for one request, where the provider lets itself be told. */
  nativeToolUses: number
  toolChoice?: ToolChoice | undefined
  parameters: CallParameters
  /** Text where it is not set. */
  format?: JsonFormat | undefined
  /** The provider is told to answer with no more; where none is set, what the model itself says holds. */
  maxOutputTokens?: number | undefined
  /** Who asks. */
  userId: number
  /** Ends when the caller goes away, or the time for the whole call is up. */
  signal: AbortSignal
}

/** Texts, or the ids of the tokens of texts. */
export type EmbeddingInput = string | readonly number[]

export interface EmbeddingCall {
  model: CallableModel
  input: readonly EmbeddingInput[]
  /** How many numbers an embedding is to have; as many as the model usually gives where it is not set. */
  dimensions?: number | undefined
  /** Our estimate of what the input takes, in tokens. */
  inputTokens: number
  /** Who asks. */
  userId: number
  signal: AbortSignal
}

/** Why an answer ended: by itself, at its longest, for tools of the caller, or because the provider would not say it. */
export const finishReasons = ['stop', 'length', 'tool-calls', 'content-filter'] as const
export type FinishReason = (typeof finishReasons)[number]

export interface ModelAnswer {
  content: readonly (AssistantPart | Source | ApprovalPart | ToolRun)[]
  finish: FinishReason
  /** The one of the caller's that ended it, where the provider tells. */
  stopSequence?: string | undefined
}

/** A call of a tool is about to be run for the answer, by the provider or by the service, which may yet refuse one that nobody allowed. */
export interface ToolUse {
  type: 'tool-use'
  /** Of the call. */
  id: string
  name: string
  /** The arguments as JSON, as the model wrote them. */
  input: string
  by: 'service' | 'provider'
}

/** What came of a call that the service has run for the answer, as the model is told it. */
export interface ToolResult {
  type: 'tool-result'
  /** Of the call. */
  id: string
  name: string
  output: string
  isError: boolean
}

/** A piece of an answer as it comes; a call of a tool comes as a whole. */
export type AnswerPart =
  | { type: 'delta'; text: string }
  | Reasoning
  | ToolCall
  | Source
  | ApprovalPart
  | ToolStart
  | ToolRun
  | ToolUse
  | ToolResult
  | { type: 'finish'; reason: FinishReason; stopSequence?: string | undefined }

/** Why a provider refuses, as far as anybody can do something about it: its caller, who runs the service, or time. */
export type ProviderReason = 'too_long' | 'rate_limited' | 'quota' | 'misconfigured'

export interface RefusalReason {
  reason?: ProviderReason
  /** When to ask again, where the provider says so. */
  retryAfterSeconds?: number
}

/** The AI providers behind one small interface. Failures are thrown as they came; nobody outside may see them. */
export interface ModelGateway {
  generate(call: ModelCall, meter: UsageMeter): Promise<ModelAnswer>
  /** The answer in pieces, as they come; those that came at once together. */
  stream(call: ModelCall, meter: UsageMeter): AsyncIterable<readonly AnswerPart[]>
  /** The parameters of a caller that are nothing which the model takes. */
  findUnsentParameters(
    model: CallableModel,
    parameters: CallParameters,
    circumstances: ParameterContext,
  ): Promise<readonly UnsentParameter[]>
  /** How many tokens the provider counts as the input of the call; undefined where it counts none. Throws where it does not say. */
  countTokens(call: ModelCall): Promise<number | undefined>
  /** Whether another model may answer what failed so: the question is not at fault, and no answer has begun. */
  isProviderFault(error: unknown): boolean
  /** Whether the provider refused in a way that it would refuse the same request again. */
  wouldFailAgain(error: unknown): boolean
  classifyRefusal(error: unknown): RefusalReason
  /** Says whose models are offline because of their calls, on any replica: of these, the next answer is told. */
  recordOutages(providers: readonly string[]): void
  /** An embedding for each of the input, in its order. */
  embed(call: EmbeddingCall, meter: UsageMeter): Promise<number[][]>
  /**
   * The models that the provider has now, by its own list or the one at `statusUrl`; undefined where it has no list. Throws
   * where it does not answer.
   */
  listModels(provider: CallableProvider, statusUrl?: string | null): Promise<readonly ListedModel[] | undefined>
}

/** A model as its provider lists it. */
export interface ListedModel {
  /** The provider's own name for it. */
  name: string
  label: string | undefined
  /** Whether it answers questions, as far as the list says. */
  isChat: boolean
  status: 'online' | 'offline' | 'unknown'
  demand: 'low' | 'medium' | 'high'
  takesImages: boolean
  maxInputTokens: number | undefined
  maxOutputTokens: number | undefined
  price: Price | undefined
}
