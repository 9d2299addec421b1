import type { Adapter } from './model-config.ts'

/** What each kind of provider embeds; those that embed nothing are not here. */
export const embedded: Partial<Record<Adapter, 'texts' | 'texts and tokens'>> = {
  'openai-compatible': 'texts and tokens',
  openai: 'texts and tokens',
  mistral: 'texts',
  google: 'texts',
}
