import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
} from '@ai-sdk/provider'

const label = 'This is the demo model of svc, not an AI.'

/**
 * Creates a model that needs no network and gives the same answer to the same question. It is for a first look, not for
 * production.
 */
export function createDemoModel(modelId: string): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'demo',
    modelId,
    supportedUrls: {},
    async doGenerate(options) {
      const { content, ...end } = buildAnswer(options)
      return { content, ...end, warnings: [] }
    },
    async doStream(options) {
      return { stream: ReadableStream.from(streamParts(buildAnswer(options))) }
    },
  }
}

type Answer = ReturnType<typeof buildAnswer>

function* streamParts({ content, finishReason, usage }: Answer): Generator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] }
  for (const part of content) {
    if (part.type === 'text') yield* streamText(part.text)
    else if (part.type === 'reasoning') yield* streamThought(part.text)
    else if (part.type === 'tool-call' || part.type === 'source') yield part
  }
  yield { type: 'finish', finishReason, usage }
}

function* streamText(text: string): Generator<LanguageModelV4StreamPart> {
  yield { type: 'text-start', id: '0' }
  for (const [delta] of text.matchAll(/\s*\S+/g)) yield { type: 'text-delta', id: '0', delta }
  yield { type: 'text-end', id: '0' }
}

function* streamThought(delta: string): Generator<LanguageModelV4StreamPart> {
  yield { type: 'reasoning-start', id: 'thought' }
  yield { type: 'reasoning-delta', id: 'thought', delta }
  yield { type: 'reasoning-end', id: 'thought' }
}

/** Calls a tool that is required or named in the question; otherwise repeats the question. */
function buildAnswer(options: LanguageModelV4CallOptions) {
  const call = buildToolCall(options)
  const { text, isCut } = truncateAnswer(buildText(options), options)
  const textPart: LanguageModelV4Content = { type: 'text', text }
  const isShowcase = options.responseFormat?.type !== 'json' && asksForShowcase(readQuestion(options.prompt))
  const parts = isShowcase ? [...showcaseBefore, textPart, ...showcaseAfter] : [textPart]
  const content = call ? [call] : parts
  const reasonOfText = isCut ? ('length' as const) : ('stop' as const)
  const unified = call ? ('tool-calls' as const) : reasonOfText
  return { content, finishReason: { unified, raw: unified }, usage: countUsage(options.prompt, call?.input ?? text) }
}

function buildToolCall({
  prompt,
  tools = [],
  toolChoice,
}: LanguageModelV4CallOptions): LanguageModelV4ToolCall | undefined {
  if (prompt.at(-1)?.role !== 'user' || toolChoice?.type === 'none') return undefined
  const functions = tools.filter((tool): tool is LanguageModelV4FunctionTool => tool.type === 'function')
  const question = readQuestion(prompt)
  const tool =
    toolChoice?.type === 'tool'
      ? functions.find(({ name }) => name === toolChoice.toolName)
      : (functions.find(({ name }) => question.includes(name)) ??
        (toolChoice?.type === 'required' ? functions[0] : undefined))
  if (!tool) return undefined
  const input = JSON.stringify(createSampleValue(tool.inputSchema))
  return { type: 'tool-call', toolCallId: `call-${prompt.length}`, toolName: tool.name, input }
}

function buildText({ prompt, responseFormat }: LanguageModelV4CallOptions): string {
  const question = readQuestion(prompt)
  if (responseFormat?.type === 'json')
    return JSON.stringify(responseFormat.schema ? createSampleValue(responseFormat.schema) : { said: question })
  if (asksForShowcase(question)) return `${label}\n\n${showcase}`
  const results = prompt.at(-1)?.role === 'tool' ? ` A tool answered: ${joinTexts(prompt.slice(-1))}` : ''
  const count = countWords(question)
  return `${label} You wrote ${count} ${count === 1 ? 'word' : 'words'}: ${question}${results}`
}

/** Cuts the answer at a stop sequence and at the longest length, in words. */
function truncateAnswer(text: string, { stopSequences = [], maxOutputTokens = Infinity }: LanguageModelV4CallOptions) {
  const ends = stopSequences.map((stop) => text.indexOf(stop)).filter((at) => at !== -1)
  const stopped = text.slice(0, Math.min(text.length, ...ends))
  const words = [...stopped.matchAll(/\s*\S+/g)].map(([word]) => word)
  return { text: words.slice(0, maxOutputTokens).join(''), isCut: words.length > maxOutputTokens }
}

const readQuestion = (prompt: LanguageModelV4Prompt) =>
  joinTexts(prompt.filter(({ role }) => role === 'user').slice(-1))

const joinTexts = (prompt: LanguageModelV4Prompt) =>
  prompt.flatMap(({ content }) => (typeof content === 'string' ? [content] : content.map(readPartText))).join(' ')

function readPartText(part: Exclude<LanguageModelV4Prompt[number]['content'], string>[number]): string {
  if ('text' in part) return part.text
  if (part.type !== 'tool-result' || !('value' in part.output)) return ''
  return typeof part.output.value === 'string' ? part.output.value : JSON.stringify(part.output.value)
}

const countWords = (text: string) => text.split(/\s+/).filter(Boolean).length

const countUsage = (prompt: LanguageModelV4Prompt, text: string) => ({
  inputTokens: {
    total: countWords(joinTexts(prompt)),
    noCache: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
  },
  outputTokens: { total: countWords(text), text: undefined, reasoning: undefined },
})

type Schema = Readonly<Record<string, unknown>>

/** Deeper values are left out. */
const MAX_DEPTH = 8

/** Creates a small value that matches a JSON schema, always the same one. */
function createSampleValue(schema: unknown, depth = 0): unknown {
  const { type, enum: values, const: constant, anyOf, oneOf, properties } = (schema ?? {}) as Schema
  const [value] = [...toList(values), constant].filter((known) => known !== undefined)
  if (value !== undefined) return value
  const [variant] = [...toList(anyOf), ...toList(oneOf)]
  if (variant) return createSampleValue(variant, depth + 1)
  const kind = toList(type)[0] ?? type ?? (properties ? 'object' : 'string')
  return kind === 'object'
    ? createSampleObject(schema as Schema, depth)
    : createScalarSample(String(kind), schema as Schema)
}

const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

function createScalarSample(kind: string, { minimum }: Schema): unknown {
  if (kind === 'number' || kind === 'integer') return minimum ?? 1
  return { string: 'demo', boolean: true, array: [] }[kind] ?? null
}

function createSampleObject({ properties, required }: Schema, depth: number): Record<string, unknown> {
  if (depth > MAX_DEPTH) return {}
  const schemas = (properties ?? {}) as Schema
  const names = required === undefined ? Object.keys(schemas) : toList(required).map(String)
  return Object.fromEntries(names.map((name) => [name, createSampleValue(schemas[name], depth + 1)]))
}

/** Questions that front ends offer to newcomers, so that they see how a page shows each part of an answer. */
const questions = ['What can this page show?', 'Was kann diese Seite zeigen?']

const asksForShowcase = (question: string): boolean => questions.includes(question.trim())

/** Parts before the text: reasoning, and a call of a provider tool. */
const showcaseBefore: LanguageModelV4Content[] = [
  {
    type: 'reasoning',
    text: 'A newcomer asks what there is to see. I show one of each: a table, code, a formula, a tool.',
  },
  {
    type: 'tool-call',
    toolCallId: 'demo-lookup',
    toolName: 'demo_lookup',
    input: JSON.stringify({ topic: 'What an answer can have' }),
    providerExecuted: true,
  },
]

/** Parts after the text. */
const showcaseAfter: LanguageModelV4Content[] = [
  {
    type: 'source',
    sourceType: 'url',
    id: 'demo-source',
    url: 'https://www.example.org/',
    title: 'An example of a source',
  },
]

/** A text with one example of each kind of formatting. */
const showcase = `## What an answer can have

Text with **emphasis**, \`code\`, a [link](https://www.example.org/) and a formula: $e^{i\\pi} + 1 = 0$.

| Part | Example |
| --- | --- |
| Heading | above |
| List | below |

- one
- two
  1. and a number below it

\`\`\`python
def mean(values: list[float]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)
\`\`\`

$$\\bar{x} = \\frac{1}{n} \\sum_{i=1}^{n} x_i$$

> A real model of your administrator's choice answers in the same way.
`
