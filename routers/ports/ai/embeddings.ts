import type { Adapter } from './adapters.ts'
import type { EmbeddingInput } from './models.ts'
import { estimateTokens } from './token-estimate.ts'

/** Embedding inputs by adapter; missing ones embed nothing. */
export const embeddingInputs: Partial<Record<Adapter, 'texts' | 'texts and tokens'>> = {
  'openai-compatible': 'texts and tokens',
  // It may proxy Ollama, which does not accept tokens.
  open_web_ui: 'texts',
  openai: 'texts and tokens',
  mistral: 'texts',
  google: 'texts',
}

/** Estimates the number of tokens of the inputs. */
export const estimateEmbeddingTokens = (input: readonly EmbeddingInput[]): number =>
  input.reduce((sum, one) => sum + (typeof one === 'string' ? estimateTokens(one) : one.length), 0)
