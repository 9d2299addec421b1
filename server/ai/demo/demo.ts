import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
} from '@ai-sdk/provider'
import { sampleValue } from './sample-value.ts'
import { asksForShowcase, showcase, showcaseAfter, showcaseBefore } from './showcase.ts'

const label = 'This is the demo model of svc, not an AI.'

/** A model that needs no network and always says the same to the same: for a first look, and never in production. */
export function demoModel(modelId: string): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'demo',
    modelId,
    supportedUrls: {},
    async doGenerate(options) {
      const { content, ...end } = answer(options)
      return { content, ...end, warnings: [] }
    },
    async doStream(options) {
      return { stream: ReadableStream.from(pieces(answer(options))) }
    },
  }
}

type Answer = ReturnType<typeof answer>

function* pieces({ content, finishReason, usage }: Answer): Generator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] }
  for (const part of content) {
    if (part.type === 'text') yield* textPieces(part.text)
    else if (part.type === 'reasoning') yield* thoughtPieces(part.text)
    else if (part.type === 'tool-call' || part.type === 'source') yield part
  }
  yield { type: 'finish', finishReason, usage }
}

function* textPieces(text: string): Generator<LanguageModelV4StreamPart> {
  yield { type: 'text-start', id: '0' }
  for (const [delta] of text.matchAll(/\s*\S+/g)) yield { type: 'text-delta', id: '0', delta }
  yield { type: 'text-end', id: '0' }
}

function* thoughtPieces(delta: string): Generator<LanguageModelV4StreamPart> {
  yield { type: 'reasoning-start', id: 'thought' }
  yield { type: 'reasoning-delta', id: 'thought', delta }
  yield { type: 'reasoning-end', id: 'thought' }
}

/** Calls a tool that must be called, or whose name is in the question; else repeats the question. */
function answer(options: LanguageModelV4CallOptions) {
  const call = toolCall(options)
  const { text, isCut } = within(sayingOf(options), options)
  const said: LanguageModelV4Content = { type: 'text', text }
  const isShown = options.responseFormat?.type !== 'json' && asksForShowcase(question(options.prompt))
  const content = call ? [call] : isShown ? [...showcaseBefore, said, ...showcaseAfter] : [said]
  const unified = call ? ('tool-calls' as const) : isCut ? ('length' as const) : ('stop' as const)
  return { content, finishReason: { unified, raw: unified }, usage: usageOf(options.prompt, call?.input ?? text) }
}

function toolCall({ prompt, tools = [], toolChoice }: LanguageModelV4CallOptions): LanguageModelV4ToolCall | undefined {
  if (prompt.at(-1)?.role !== 'user' || toolChoice?.type === 'none') return undefined
  const functions = tools.filter((tool): tool is LanguageModelV4FunctionTool => tool.type === 'function')
  const said = question(prompt)
  const tool =
    toolChoice?.type === 'tool'
      ? functions.find(({ name }) => name === toolChoice.toolName)
      : (functions.find(({ name }) => said.includes(name)) ??
        (toolChoice?.type === 'required' ? functions[0] : undefined))
  if (!tool) return undefined
  const input = JSON.stringify(sampleValue(tool.inputSchema))
  return { type: 'tool-call', toolCallId: `call-${prompt.length}`, toolName: tool.name, input }
}

function sayingOf({ prompt, responseFormat }: LanguageModelV4CallOptions): string {
  const said = question(prompt)
  if (responseFormat?.type === 'json')
    return JSON.stringify(responseFormat.schema ? sampleValue(responseFormat.schema) : { said })
  if (asksForShowcase(said)) return `${label}\n\n${showcase}`
  const results = prompt.at(-1)?.role === 'tool' ? ` A tool answered: ${textOf(prompt.slice(-1))}` : ''
  const count = words(said)
  return `${label} You wrote ${count} ${count === 1 ? 'word' : 'words'}: ${said}${results}`
}

/** Keeps to where the answer is to stop, and to its longest in words. */
function within(text: string, { stopSequences = [], maxOutputTokens = Infinity }: LanguageModelV4CallOptions) {
  const ends = stopSequences.map((stop) => text.indexOf(stop)).filter((at) => at !== -1)
  const stopped = text.slice(0, Math.min(text.length, ...ends))
  const said = [...stopped.matchAll(/\s*\S+/g)].map(([word]) => word)
  return { text: said.slice(0, maxOutputTokens).join(''), isCut: said.length > maxOutputTokens }
}

const question = (prompt: LanguageModelV4Prompt) => textOf(prompt.filter(({ role }) => role === 'user').slice(-1))

const textOf = (prompt: LanguageModelV4Prompt) =>
  prompt.flatMap(({ content }) => (typeof content === 'string' ? [content] : content.map(textOfPart))).join(' ')

function textOfPart(part: Exclude<LanguageModelV4Prompt[number]['content'], string>[number]): string {
  if ('text' in part) return part.text
  if (part.type !== 'tool-result' || !('value' in part.output)) return ''
  return typeof part.output.value === 'string' ? part.output.value : JSON.stringify(part.output.value)
}

const words = (text: string) => text.split(/\s+/).filter(Boolean).length

const usageOf = (prompt: LanguageModelV4Prompt, text: string) => ({
  inputTokens: { total: words(textOf(prompt)), noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: words(text), text: undefined, reasoning: undefined },
})
