import type {
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider'
import type { CallableModel } from '../../routers/ports/ai/models.ts'
import type { ReportedTokens } from '../../routers/ports/ai/usage-meter.ts'
import type { HttpClient } from '../net/http-client.ts'

/** Address, key and HTTP client of a provider. */
export interface Connection {
  apiUrl?: string | undefined
  apiKey?: string | undefined
  /** Whether the server, when asked, reports the usage so far in every chunk of a stream. */
  continuousUsage: boolean
  fetch: HttpClient['fetch']
  send: HttpClient['send']
  read: HttpClient['read']
}

/** A connection for requests of one model, and what their bodies have beside what the AI SDK writes. */
export interface ModelConnection extends Connection {
  extraMembers: Readonly<Record<string, unknown>>
}

/** What its provider calls a model. */
export const upstreamName = ({ upstreamId, modelId }: Pick<CallableModel, 'upstreamId' | 'modelId'>): string =>
  upstreamId ?? modelId

export type GenerateResult = Pick<LanguageModelV4GenerateResult, 'content' | 'usage' | 'finishReason'> &
  Partial<Pick<LanguageModelV4GenerateResult, 'providerMetadata' | 'response'>>

/** Token counts that the provider reported in the same event as the parts that follow. */
interface UsagePart {
  type: 'usage'
  tokens: ReportedTokens | undefined
}

export type Part = LanguageModelV4StreamPart | UsagePart

/** The parts of one network read, passed on together: a step per part would cost more than the text itself. */
export type PartBatch = readonly Part[]

/** The part of an AI SDK model that the service calls. */
export interface ChatModel {
  doGenerate(options: LanguageModelV4CallOptions): PromiseLike<GenerateResult>
  doStream(options: LanguageModelV4CallOptions): PromiseLike<{ stream: AsyncIterable<PartBatch> }>
}
