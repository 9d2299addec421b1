import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { argumentsFor } from './call-arguments.ts'
import { withoutMarks } from './meta-blocks.ts'

type SaidPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]

/** A part of what a model said, as its provider gets it back: without marks of blocks, which callers and models can write. */
export function saidWithoutMarks(part: SaidPart, adapter: string): SaidPart {
  switch (part.type) {
    case 'text':
      return { ...part, text: withoutMarks(part.text) }
    case 'reasoning':
      // Anthropic takes no other thought back than the one that it signed.
      return adapter === 'anthropic' ? part : { ...part, text: withoutMarks(part.text) }
    case 'tool-call':
      return { ...part, input: argumentsFor(part.providerExecuted ? 'object' : adapter, `${part.input}`) }
    default:
      return part
  }
}
