import type { CallableModelRow } from '../../../entities/catalogue/ai-model.sql.ts'
import type { DeepReadonly } from '../../../entities/sql/read-only.ts'
import type { NativeTool } from './adapters.ts'
import type { AssistantPart, CacheMark, Message, Reasoning, Source, ToolCall } from './messages.ts'
import type { Price } from './price-list.ts'
import type { ApprovalPart, CallerTool, FunctionTool, JsonSchema, ToolChoice, ToolRun, ToolStart } from './tools.ts'
import type { UsageMeter } from './usage-meter.ts'

/** Parameters of one call; the model's own parameters are the defaults. */
export interface CallParameters {
  temperature?: number | undefined
  topP?: number | undefined
  /** Limit of the answer, in tokens. */
  maxTokens?: number | undefined
  maxThinkingTokens?: number | undefined
  /** Reasoning effort. */
  effort?: Effort | undefined
  /** Lets the model decide how much it thinks. */
  thinking?: 'adaptive' | undefined
  /** Requests the reasoning, in this level of detail. */
  thoughts?: 'auto' | 'concise' | 'detailed' | undefined
  topK?: number | undefined
  presencePenalty?: number | undefined
  frequencyPenalty?: number | undefined
  verbosity?: 'low' | 'medium' | 'high' | undefined
  /** Options for the chat template of open models, such as whether the model thinks. */
  templateOptions?: Readonly<Record<string, unknown>> | undefined
  /** The caller's name for `maxTokens`, for providers of that API. */
  maxTokensName?: 'max_completion_tokens' | undefined
  /** True if the server is to report how likely each token was. */
  logprobs?: boolean | undefined
  /** Number of alternatives to report for each token. */
  topLogprobs?: number | undefined
  seed?: number | undefined
  stop?: readonly string[] | undefined
  /** True if the model may call several tools at once. */
  parallelTools?: boolean | undefined
  /** Marks the end of the request for the provider's cache, wherever it is. */
  cache?: CacheMark | undefined
  /** Groups requests that share a prefix, for the cache of OpenAI. */
  cacheKey?: string | undefined
  /** The time for which OpenAI keeps what it caches. */
  cacheRetention?: 'in_memory' | '24h' | undefined
}

/** A parameter that would not reach the provider unchanged; `schema` is that of the answer. */
export interface UnsentParameter {
  name: keyof CallParameters | 'toolChoice' | 'schema'
  /** The maximum that would be sent instead. */
  max?: number
  /** True if the model supports it when the other parameters are absent. */
  isAcceptedAlone?: boolean
}

/** Properties of a request, beside its parameters, that determine which parameters can be sent. */
export interface ParameterContext {
  hasTools: boolean
  /** True if the model must call a tool. */
  isForced: boolean
  /** Schema of the JSON answer. */
  schema: JsonSchema | undefined
  /** The beginning of the assistant's turn, which continues with tool results; empty if there is none. */
  assistantPrefix: readonly AssistantPart[]
}

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof efforts)[number]

/** Requests JSON, with a schema if there is one. */
export interface JsonFormat {
  name?: string | undefined
  description?: string | undefined
  schema?: JsonSchema | undefined
  /** True if the provider must enforce the schema. */
  strict?: boolean | undefined
}

/** A model with everything that a call needs, in one row. */
export type CallableModel = DeepReadonly<CallableModelRow>

/** A provider with everything that a call needs. */
export type CallableProvider = Pick<
  CallableModel,
  'providerId' | 'adapter' | 'apiUrl' | 'apiKey' | 'servers' | 'providerSettings'
>

/** Numbers of images and document pages in a request, and their share of our token estimate. */
export interface FileEstimate {
  images: number
  pages: number
  estimate: number
}

export const noFiles: FileEstimate = { images: 0, pages: 0, estimate: 0 }

/** The assistant that was asked. */
export interface AskedAssistant {
  /** Its handle and its version, as in `helper@3`. */
  label: string
  /** Version of the catalogue of the cached assistant; null if it was read for this call. */
  catalogue: number | null
}

export interface ModelCall {
  model: CallableModel
  assistant?: AskedAssistant | undefined
  messages: readonly Message[]
  /** Our token estimate of messages and tools. */
  inputTokens: number
  /** Files for which providers may count more tokens than the estimate. */
  files: FileEstimate
  /** Tools that the service runs. */
  tools: readonly FunctionTool[]
  /** Number of concurrent tool calls; further ones wait. */
  toolsAtOnce: number
  /** Tools that the caller runs. */
  callerTools: readonly CallerTool[]
  /** Tools that the provider runs. */
  nativeTools: readonly NativeTool[]
  /** Uses of each provider tool per request, if the provider accepts a limit. */
  nativeToolUses: number
  toolChoice?: ToolChoice | undefined
  parameters: CallParameters
  /** The default is text. */
  format?: JsonFormat | undefined
  /** Output limit sent to the provider; the default is the model's own. */
  maxOutputTokens?: number | undefined
  /** The person who asks. */
  userId: number
  /** Aborts when the caller disconnects or the time limit of the call is reached. */
  signal: AbortSignal
}

/** Texts, or token ids of texts. */
export type EmbeddingInput = string | readonly number[]

export interface EmbeddingCall {
  model: CallableModel
  input: readonly EmbeddingInput[]
  /** Dimensions of the embedding; the default is the model's own. */
  dimensions?: number | undefined
  /** Our token estimate of the input. */
  inputTokens: number
  /** The person who asks. */
  userId: number
  signal: AbortSignal
}

/** Finish reasons: natural end, length limit, tool calls of the caller, or refusal by the provider. */
export const finishReasons = ['stop', 'length', 'tool-calls', 'content-filter'] as const
export type FinishReason = (typeof finishReasons)[number]

/** A token with the logarithm of its probability. */
export interface TokenLogprob {
  token: string
  logprob: number
  bytes: readonly number[] | null
}

/** A token of the answer with its alternatives. */
export interface AnswerLogprob extends TokenLogprob {
  top_logprobs: readonly TokenLogprob[]
}

export interface ModelAnswer {
  content: readonly (AssistantPart | Source | ApprovalPart | ToolRun)[]
  finish: FinishReason
  /** The caller's stop sequence that ended the answer, if the provider reports it. */
  stopSequence?: string | undefined
  /** The tokens of the last round, if they were requested and the server reports them. */
  logprobs?: readonly AnswerLogprob[] | undefined
}

/**
 * Announces that the provider or the service is about to run a tool; the service may still refuse a call without
 * approval.
 */
export interface ToolUse {
  type: 'tool-use'
  /** The id of the call. */
  id: string
  name: string
  /** The arguments as JSON text, as the model wrote them. */
  input: string
  by: 'service' | 'provider'
}

/** The result of a tool call that the service has run, as the model gets it. */
export interface ToolResultPart {
  type: 'tool-result'
  /** The id of the call. */
  id: string
  name: string
  output: string
  isError: boolean
}

/** A part of a streamed answer; a tool call comes as a whole. */
export type AnswerPart =
  | { type: 'delta'; text: string }
  | Reasoning
  | ToolCall
  | Source
  | ApprovalPart
  | ToolStart
  | ToolRun
  | ToolUse
  | ToolResultPart
  | {
      type: 'finish'
      reason: FinishReason
      stopSequence?: string | undefined
      logprobs?: readonly AnswerLogprob[] | undefined
    }

/** Reasons of a refusal that somebody can act on: the caller, the operator, or a later retry. */
export type ProviderReason = 'too_long' | 'rate_limited' | 'quota' | 'key_refused' | 'model_unknown'

export interface RefusalReason {
  /** `paused` if the provider is not asked for a while after failures, `broke_off` if only a part of the answer came. */
  reason?: ProviderReason | 'paused' | 'broke_off'
  /** Seconds after which to retry, if the provider states them or its pause ends then. */
  retryAfterSeconds?: number
}

/** Gateway to the AI providers. Errors are thrown unchanged, so callers must not expose them. */
export interface ModelGateway {
  generate(call: ModelCall, meter: UsageMeter): Promise<ModelAnswer>
  /** Streams the answer; parts that arrived together come together. */
  stream(call: ModelCall, meter: UsageMeter): AsyncIterable<readonly AnswerPart[]>
  /** Returns the caller's parameters that the model does not support. */
  findUnsentParameters(
    model: CallableModel,
    parameters: CallParameters,
    circumstances: ParameterContext,
  ): Promise<readonly UnsentParameter[]>
  /** Counts input tokens with the provider; undefined if it does not support this. Throws if it fails. */
  countTokens(call: ModelCall): Promise<number | undefined>
  /** Returns true if a fallback may answer: the request is not at fault, and the answer has not begun. */
  isProviderFault(error: unknown): boolean
  /** Returns true if the provider would refuse the same request again. */
  wouldFailAgain(error: unknown): boolean
  classifyRefusal(error: unknown): RefusalReason
  /** Records providers that other replicas found offline; the next answer of one of them is reported. */
  recordOutages(providers: readonly string[]): void
  /** Returns an embedding for each input, in order. */
  embed(call: EmbeddingCall, meter: UsageMeter): Promise<number[][]>
  /**
   * Lists the provider's models, from its own list or the one at `statusUrl`; undefined if it has no list. Throws if it
   * does not respond.
   */
  listModels(provider: CallableProvider, statusUrl?: string | null): Promise<readonly ListedModel[] | undefined>
}

/** A model as its provider lists it. */
export interface ListedModel {
  /** The provider's own name for it. */
  name: string
  label: string | undefined
  /** True if it is a chat model according to the list. */
  isChat: boolean
  status: 'online' | 'offline' | 'unknown'
  demand: 'low' | 'medium' | 'high'
  takesImages: boolean
  maxInputTokens: number | undefined
  maxOutputTokens: number | undefined
  price: Price | undefined
}
