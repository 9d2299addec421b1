import type { Caller } from './caller.ts'

/** Texts that a person, or the installation, has embedded and pays for. */
export interface EmbedRequest {
  caller: Extract<Caller, { type: 'user' }>
  /** The room for whose answer they are embedded, whose limits apply as well. */
  roomId?: number | undefined
  requestId: string
  /** The name of the model in requests. Everybody may use it here, whatever groups it is for. */
  model: string
  /** The model's own if absent. */
  dimensions?: number | undefined
  texts: readonly string[]
  signal: AbortSignal
}

export interface EmbeddedTexts {
  /** One vector for each text, in their order. */
  vectors: number[][]
  /** Estimated before the call. */
  estimatedTokens: number
  /** As the provider has billed them. */
  billedTokens: number
}

/** Embeds texts by the models of the catalogue, within the limits of the caller. Throws a `Problem` if it fails. */
export type Embedder = (request: EmbedRequest) => Promise<EmbeddedTexts>
