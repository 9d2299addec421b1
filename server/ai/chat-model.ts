import type { LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from '@ai-sdk/provider'
import type { HttpClient } from '../net/http-client.ts'
import type { PartBatch } from './provider-stream.ts'

/** What it takes to reach a provider. */
export interface Connection {
  name: string
  apiUrl?: string | undefined
  apiKey?: string | undefined
  /** Whether the server tells in each piece of a stream what it has taken so far, when it is asked to. */
  continuousUsage: boolean
  fetch: HttpClient['fetch']
  send: HttpClient['send']
}

/** A connection for requests of one model, and what their bodies have beside what the AI SDK writes. */
export interface ModelConnection extends Connection {
  extraMembers: Readonly<Record<string, unknown>>
}

/** As much of an AI SDK model as is called. */
export interface ChatModel {
  doGenerate(
    options: LanguageModelV4CallOptions,
  ): PromiseLike<Pick<LanguageModelV4GenerateResult, 'content' | 'usage' | 'finishReason'>>
  doStream(options: LanguageModelV4CallOptions): PromiseLike<{ stream: AsyncIterable<PartBatch> }>
}
