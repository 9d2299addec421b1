import type {
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import type { CallableModel } from '../../routers/ports/ai/models.ts'
import type { ReportedTokens } from '../../routers/ports/ai/usage-meter.ts'
import type { HttpClient } from '../net/http-client.ts'

/** Address, API key and HTTP client of a provider. */
export interface Connection {
  apiUrl?: string | undefined
  apiKey?: string | undefined
  /** True if the server reports the usage so far in every chunk of a stream when asked to. */
  continuousUsage: boolean
  fetch: HttpClient['fetch']
  send: HttpClient['send']
  read: HttpClient['read']
}

/** A connection for one model, with the members to add to each request body. */
export interface ModelConnection extends Connection {
  extraMembers: Readonly<Record<string, unknown>>
}

/** Returns the id by which the provider knows the model. */
export const getUpstreamName = ({ upstreamId, modelId }: Pick<CallableModel, 'upstreamId' | 'modelId'>): string =>
  upstreamId ?? modelId

export type GenerateResult = Pick<LanguageModelV4GenerateResult, 'content' | 'usage' | 'finishReason'> &
  Partial<Pick<LanguageModelV4GenerateResult, 'providerMetadata' | 'response'>>

/** Token counts from the same event as the parts that follow. */
interface UsagePart {
  type: 'usage'
  tokens: ReportedTokens | undefined
}

/** Text that is held back until it is known to be reasoning or an answer; it is only counted. */
interface HeldPart {
  type: 'held'
  delta: string
}

/** A text that was counted while it was held back. */
interface CountedText {
  isCounted?: true
}

export type Part = (LanguageModelV4StreamPart & CountedText) | UsagePart | HeldPart

/**
 * The parts of one network read. They are passed on together, since a step for each part would cost more than the text
 * itself.
 */
export type PartBatch = readonly Part[]

/** The methods of an AI SDK model that we call. */
export interface ChatModel {
  doGenerate(options: LanguageModelV4CallOptions): PromiseLike<GenerateResult>
  doStream(options: LanguageModelV4CallOptions): PromiseLike<{ stream: AsyncIterable<PartBatch> }>
}
