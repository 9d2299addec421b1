import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider'

const label = 'This is the demo model of svc, not an AI.'

/** A model that needs no network and always says the same to the same: for a first look, and never in production. */
export function demoModel(modelId: string): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'demo',
    modelId,
    supportedUrls: {},
    async doGenerate({ prompt }) {
      const text = answer(prompt)
      return { content: [{ type: 'text', text }], finishReason: stop, usage: usageOf(prompt, text), warnings: [] }
    },
    async doStream({ prompt }) {
      const text = answer(prompt)
      return { stream: ReadableStream.from(pieces(text, usageOf(prompt, text))) }
    },
  }
}

const stop = { unified: 'stop', raw: 'stop' } as const

function* pieces(text: string, usage: ReturnType<typeof usageOf>): Generator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'text-start', id: '0' }
  for (const [delta] of text.matchAll(/\s*\S+/g)) yield { type: 'text-delta', id: '0', delta }
  yield { type: 'text-end', id: '0' }
  yield { type: 'finish', finishReason: stop, usage }
}

function answer(prompt: LanguageModelV4Prompt): string {
  const said = textOf(prompt.filter(({ role }) => role === 'user').slice(-1))
  return `${label} You wrote ${words(said)} words: ${said}`
}

const textOf = (prompt: LanguageModelV4Prompt) =>
  prompt
    .flatMap(({ content }) =>
      typeof content === 'string' ? [content] : content.map((part) => ('text' in part ? part.text : '')),
    )
    .join(' ')

const words = (text: string) => text.split(/\s+/).filter(Boolean).length

const usageOf = (prompt: LanguageModelV4Prompt, text: string) => ({
  inputTokens: { total: words(textOf(prompt)), noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: words(text), text: undefined, reasoning: undefined },
})
