import type { Adapter } from './adapters.ts'
import type { EmbeddingInput } from './models.ts'
import { estimateTokens } from './token-estimate.ts'

/** What each kind of provider embeds; those that embed nothing are not here. */
export const embeddingInputs: Partial<Record<Adapter, 'texts' | 'texts and tokens'>> = {
  'openai-compatible': 'texts and tokens',
  // What it asks may be Ollama, which knows no tokens.
  open_web_ui: 'texts',
  openai: 'texts and tokens',
  mistral: 'texts',
  google: 'texts',
}

/** About how many tokens these are, with parts of one. */
export const estimateEmbeddingTokens = (input: readonly EmbeddingInput[]): number =>
  input.reduce((sum, one) => sum + (typeof one === 'string' ? estimateTokens(one) : one.length), 0)
