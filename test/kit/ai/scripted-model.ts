import { createHash } from 'node:crypto'
import { startApp } from '../app.ts'
import { signIn } from '../browser.ts'
import { completions, mistral } from './dialects/completions.ts'
import {
  buildTextAnswer,
  type Call,
  type Dialect,
  type DialectAnswer,
  type DialectRequest,
  type Schema,
  splitTokens,
} from './dialects/dialect.ts'
import { generateContent } from './dialects/generate-content.ts'
import { messages } from './dialects/messages.ts'
import { responses } from './dialects/responses.ts'
import { PROVIDER_KEY } from './protocols.ts'
import { type Behaviour, beginStream, sendJson, startProvider, writeConfig } from './provider.ts'

interface SchemaNode extends Schema {
  type?: string | string[]
  $ref?: string
  enum?: unknown[]
  anyOf?: SchemaNode[]
  oneOf?: SchemaNode[]
  allOf?: SchemaNode[]
  properties?: Record<string, SchemaNode>
  required?: string[]
  items?: SchemaNode
  minItems?: number
  minimum?: number
  exclusiveMinimum?: number
  multipleOf?: number
  minLength?: number
  maxLength?: number
}

/** Optional members below this depth are omitted. */
const MAX_DEPTH = 4

/** Generates values for JSON schemas from words. Patterns and formats are ignored. */
class SchemaSampler {
  readonly #root: SchemaNode
  readonly #words: Iterator<string>

  constructor(root: Schema, words: Iterator<string>) {
    this.#root = root
    this.#words = words
  }

  value(schema: SchemaNode = this.#root, depth = 0): unknown {
    const { $ref, allOf = [], anyOf = [], oneOf = [], ...rest } = schema
    const parts = [...allOf, ...anyOf.slice(0, 1), ...oneOf.slice(0, 1), ...($ref ? [this.#at($ref)] : [])]
    if (parts.length > 0) return this.value(Object.assign({}, ...parts, rest), depth + 1)
    if (schema['const'] !== undefined) return schema['const']
    return schema.enum ? schema.enum[0] : this.#ofType(schema, depth)
  }

  #ofType(schema: SchemaNode, depth: number): unknown {
    const type = [schema.type ?? (schema.properties ? 'object' : 'string')].flat()[0]
    switch (type) {
      case 'object':
        return this.#members(schema, depth)
      case 'array':
        return Array.from({ length: schema.minItems ?? (depth < MAX_DEPTH ? 1 : 0) }, () =>
          this.value(schema.items ?? {}, depth + 1),
        )
      case 'string':
        return this.#text(schema)
      case 'integer':
      case 'number':
        return pickNumber(schema)
      default:
        return type === 'boolean' ? true : null
    }
  }

  #members({ properties = {}, required = [] }: SchemaNode, depth: number): object {
    const members = Object.entries(properties).filter(([name]) => depth < MAX_DEPTH || required.includes(name))
    return Object.fromEntries(members.map(([name, schema]) => [name, this.value(schema, depth + 1)]))
  }

  #text({ minLength = 1, maxLength = Infinity }: SchemaNode): string {
    let text = ''
    while (text.length < minLength) text += `${text && ' '}${this.#words.next().value}`
    return text.slice(0, maxLength)
  }

  /** A pointer within the document. */
  #at(reference: string): SchemaNode {
    const steps = reference.replace(/^#\/?/, '').split('/').filter(Boolean)
    return steps.reduce<SchemaNode>((node, step) => node[step] as SchemaNode, this.#root)
  }
}

function pickNumber({ minimum, exclusiveMinimum, multipleOf = 1 }: SchemaNode): number {
  const least = minimum ?? (exclusiveMinimum === undefined ? 1 : exclusiveMinimum + multipleOf)
  return Math.ceil(least / multipleOf) * multipleOf
}

const vocabulary = [
  'amber',
  'birch',
  'cloud',
  'dune',
  'ember',
  'fern',
  'grove',
  'heath',
  'islet',
  'jade',
  'kelp',
  'lime',
]
const SPOKEN_WORDS = 12

/** Creates a model that follows all options of a request in all dialects, and records its answers. */
function createScriptedModel() {
  const answers: DialectAnswer[] = []
  const behave: Behaviour = ({ path, body }, response) => {
    const dialect = selectDialect(path)
    const answer = answerRequest(dialect.read(body))
    answers.push(answer)
    if (!body.stream && !path.includes(':stream')) return sendJson(response, dialect.whole(answer))
    beginStream(response)
    response.end(dialect.events(answer, body).join(''))
  }
  return { answers, behave }
}

/** Selects the dialect by the path of the request. */
function selectDialect(path: string): Dialect {
  if (path.endsWith('/responses')) return responses
  if (path.endsWith('/messages')) return messages
  if (path.includes('enerateContent')) return generateContent
  return path.includes('/mistral/') ? mistral : completions
}

function answerRequest(request: DialectRequest): DialectAnswer {
  const inputTokens = splitTokens(JSON.stringify([request.messages, request.around], null, 1)).length
  const words = generateWords(request.seed ?? extractTexts(request.messages))
  const { text, ...answer } = limitAnswer(request, chooseCalls(request, words), () => writeText(request, words))
  const output = splitTokens(text + formatCalls(answer.calls)).length
  return { ...buildTextAnswer(text, { input: inputTokens, output, cached: 0, cacheWrite: 0, reasoning: 0 }), ...answer }
}

/** Extracts the texts of a conversation in any dialect. */
const extractTexts = (messages: DialectRequest['messages']): string[] =>
  [...JSON.stringify(messages).matchAll(/"(?:text|content)":"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text)

/** Generates words that depend on the seed alone. */
function* generateWords(seed: unknown): Generator<string, never> {
  for (let at = 0; ; at++) {
    const [byte = 0] = createHash('sha256')
      .update(JSON.stringify([seed, at]))
      .digest()
    yield vocabulary[byte % vocabulary.length] as string
  }
}

const formatCalls = (calls: readonly Call[]) =>
  calls.map(({ name, input }) => `${name} ${JSON.stringify(input)} `).join('')

/** Chooses the tools to call: all required ones, or those named in the question; the last one where one at a time is allowed. */
function chooseCalls({ messages, tools, mustCall, isOneByOne }: DialectRequest, words: Iterator<string>): Call[] {
  const question = JSON.stringify(messages.at(-1))
  const isAnswered = /tool_result|functionResponse|function_call_output|"role":"tool"/.test(question)
  const fit = mustCall ? tools : tools.filter(({ name }) => !isAnswered && question.includes(name))
  return (isOneByOne ? fit.slice(-1) : fit).map(({ name, schema }, at) => ({
    // Mistral wants nine letters and digits.
    id: `call${String(messages.length * 100 + at).padStart(5, '0')}`,
    name,
    input: new SchemaSampler(schema, words).value(),
  }))
}

function writeText({ json }: DialectRequest, words: Iterator<string>): string {
  const sentence = Array.from({ length: SPOKEN_WORDS }, () => words.next().value).join(' ')
  if (json === false) return sentence
  return JSON.stringify(json === true ? { spoken: sentence } : new SchemaSampler(json, words).value(), null, 1)
}

/** Ends an answer before the first stop sequence and at the maximum of tokens; a call is complete or omitted. */
function limitAnswer(
  { stop, maxTokens }: DialectRequest,
  calls: readonly Call[],
  speak: () => string,
): Pick<DialectAnswer, 'text' | 'calls' | 'end' | 'stop'> {
  if (calls.length > 0 && splitTokens(formatCalls(calls)).length <= maxTokens) return { text: '', calls, end: 'calls' }
  if (calls.length > 0) return { text: '', calls: [], end: 'length' }
  const text = speak()
  const [first] = stop.filter((one) => text.includes(one)).sort((one, other) => text.indexOf(one) - text.indexOf(other))
  const tokens = splitTokens(first === undefined ? text : text.slice(0, text.indexOf(first)))
  const isCut = tokens.length > maxTokens
  return {
    text: tokens.slice(0, maxTokens).join(''),
    calls: [],
    end: isCut ? 'length' : 'stop',
    ...(!isCut && { stop: first }),
  }
}

/** Models of each kind of provider, by what it calls them. The older one of Anthropic is told of a schema by a tool, another never told to call one. */
export const models: Record<string, Record<string, string>> = {
  'openai-compatible': { compatible: 'up-1' },
  open_web_ui: { 'open web ui': 'up-1' },
  openai: { gpt: 'gpt-4.1' },
  anthropic: { claude: 'claude-sonnet-4-6', 'older claude': 'claude-sonnet-4-0', 'free claude': 'claude-opus-5-5' },
  google: { gemini: 'gemini-2.5-flash' },
  mistral: { mistral: 'mistral-large-latest' },
}

interface UsageRecord {
  outcome: string
  estimated: boolean
  input: number
  output: number
}

/** A service whose models all are the scripted one, and somebody who asks it by every face. */
export async function startScriptedService() {
  await using startup = new AsyncDisposableStack()
  const { behave, answers } = createScriptedModel()
  const upstream = startup.use(await startProvider(behave))
  const config = startup.use(await writeConfig(upstream.url))
  const providers = Object.entries(models).map(([adapter, upstreamIds]) => ({
    id: `some ${adapter}`,
    adapter,
    apiUrl: `${upstream.url}/${adapter}`,
    apiKey: PROVIDER_KEY,
    models: Object.entries(upstreamIds).map(([id, upstreamId]) => ({ id, upstreamId, external: true })),
  }))
  await config.write({ providers, systemModels: {} })
  const svc = startup.use(await startApp({ AI_CONFIG: config.file }))
  const { token } = await svc.user()
  const { browser } = await signIn(svc, 'ada')
  const resources = startup.move()
  return {
    sender: { svc, token, browser },
    /** Returns the model's answers since the last call, and the usage records of them. */
    async take() {
      await svc.services.ai.usageLedger.flush()
      const records = await svc.rows<UsageRecord>(
        `delete from usage_records returning outcome, estimated, input_tokens as input, output_tokens as output`,
      )
      return { answers: answers.splice(0), records }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
