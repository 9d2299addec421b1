import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import type {
  CallableModel,
  CallParameters,
  ModelCall,
  OfferedTools,
  UnsentParameter,
} from '../../routers/ports/ai/models.ts'
import type { Log } from '../../routers/ports/log.ts'
import { type Connection, upstreamName } from './chat-model.ts'
import { longestAnswer } from './parameters.ts'
import { hasRoomToThink } from './thinking/anthropic.ts'
import { writtenFor } from './written.ts'

/** The parameters that an SDK leaves out or changes by its own list of models, of which it only warns. */
type Sampling = 'temperature' | 'topP'
type Thinking = 'effort' | 'thoughts'

const MAX_KNOWN = 1000
/** Tokens of an answer in which the smallest effort has room for thoughts. */
const PLENTY = 100_000

/** What decides about it. */
interface Question {
  model: CallableModel
  parameters: CallParameters
  tools: OfferedTools
}

/** Knows which parameters would not reach a provider, by the requests that its SDK writes with and without them. */
export class UnsentParameters {
  readonly #log: Log
  readonly #known = new LRUCache<string, readonly UnsentParameter[]>({ max: MAX_KNOWN })

  constructor(log: Log) {
    this.#log = log
  }

  /** Those that the caller sets. What only the model's settings say may be left out, and is logged once. */
  async find(model: CallableModel, asked: CallParameters, tools: OfferedTools): Promise<readonly UnsentParameter[]> {
    const { temperature, topP, maxTokens, maxThinkingTokens } = model.parameters ?? {}
    const parameters = decidingOf(model, asked)
    const isAsked = [...sampling, ...thinking].some((name) => parameters[name] !== undefined)
    if (model.adapter === 'demo' || !(isAsked || temperature !== undefined || topP !== undefined)) return []
    const defaults = { temperature, topP, maxTokens, maxThinkingTokens }
    const question = { model: { ...model, parameters: defaults }, parameters, tools }
    const key = keyOf(question)
    const known = this.#known.get(key)
    if (known) return known
    const unsent = await unsentOf(question)
    this.#known.set(key, unsent)
    if (!isAsked) await this.#logDefaults(question)
    return unsent
  }

  async #logDefaults({ model, ...question }: Question): Promise<void> {
    const body = await bodyOf({ model, ...question })
    const unsent = sampling.filter((name) => sentIn(body, name) !== (model.parameters?.[name] ?? undefined))
    if (unsent.length > 0)
      this.#log.warn({ model: model.modelId, parameters: unsent }, 'parameters of a model are nothing that it takes')
  }
}

const sampling: readonly Sampling[] = ['temperature', 'topP']
const thinking: readonly Thinking[] = ['effort', 'thoughts']

/** The parameters that matter: any stop or seed is like another, and only Anthropic's thoughts need room in the answer. */
function decidingOf({ adapter }: CallableModel, asked: CallParameters): CallParameters {
  const { temperature, topP, effort, thinking, maxThinkingTokens, seed, stop } = asked
  const thoughts = asked.thoughts === 'auto' ? undefined : asked.thoughts
  const isOlder = seed !== undefined || stop !== undefined
  const maxTokens = adapter === 'anthropic' ? asked.maxTokens : undefined
  const others = { effort, thoughts, thinking, maxThinkingTokens, maxTokens }
  return { temperature, topP, ...others, stop: isOlder ? ['.'] : undefined }
}

/** Of the longest answer a caller may say any length, of which it matters only whether it has room for thoughts. */
function keyOf({ model, parameters: { maxTokens, ...parameters }, tools }: Question): string {
  const most = model.limits?.maxOutputTokens
  const longest = longestAnswer({ model, parameters: { maxTokens } })
  const hasRoom = maxTokens === undefined ? undefined : hasRoomToThink({ model, parameters }, longest)
  return JSON.stringify([model.adapter, upstreamName(model), model.parameters, most, parameters, hasRoom, tools])
}

async function unsentOf(question: Question): Promise<UnsentParameter[]> {
  const body = await bodyOf(question)
  const samples = sampling.map((name) => unsentSample(name, body, question))
  const thoughts = thinking.map((name) => unsentThinking(name, question))
  return (await Promise.all([...samples, ...thoughts])).filter((unsent) => unsent !== undefined)
}

async function unsentSample(name: Sampling, body: Body, question: Question): Promise<UnsentParameter | undefined> {
  const { [name]: asked } = question.parameters
  const most = sentIn(body, name)
  if (asked === undefined || most === asked) return undefined
  if (most !== undefined) return { name, most }
  const alone = await bodyOf({ ...question, parameters: { [name]: asked } })
  return { name, isTakenAlone: sentIn(alone, name) !== undefined }
}

/**
 * Looked at alone, as it is one word of several about thoughts, and a small one of a short answer may come to none: but not
 * where that would make room for a parameter that no model takes which thinks. An effort of `none` is left out only for models
 * that never think.
 */
async function unsentThinking(name: Thinking, question: Question): Promise<UnsentParameter | undefined> {
  const { temperature, topP, [name]: asked, stop, maxTokens, thinking, maxThinkingTokens } = question.parameters
  if (asked === undefined || asked === 'none') return undefined
  const { model, tools } = question
  const free = {
    ...question,
    model: { ...model, parameters: null, limits: null },
    tools: { ...tools, isForced: false },
  }
  const plain = { stop, maxTokens: PLENTY }
  if (await isSame({ ...free, parameters: { [name]: asked, ...plain } }, { ...free, parameters: plain }))
    return { name }
  if (temperature === undefined && topP === undefined) return undefined
  const most = model.parameters?.maxTokens
  const besides = { ...model, parameters: { maxTokens: most, maxThinkingTokens: model.parameters?.maxThinkingTokens } }
  const isLeftOut = await isSame(
    { model: besides, tools, parameters: { [name]: asked, stop, maxTokens, thinking, maxThinkingTokens } },
    { model: { ...model, parameters: { maxTokens: most } }, tools, parameters: { stop, maxTokens } },
  )
  return isLeftOut ? { name, isTakenAlone: true } : undefined
}

async function isSame(one: Question, other: Question): Promise<boolean> {
  const [body, otherBody] = await Promise.all([bodyOf(one), bodyOf(other)])
  return isDeepStrictEqual(body, otherBody)
}

type Body = Record<string, unknown> & { generationConfig?: Record<string, unknown> }

const spellings = { temperature: ['temperature'], topP: ['top_p', 'topP'] } as const

function sentIn({ generationConfig = {}, ...body }: Body, name: Sampling): number | undefined {
  const found = spellings[name].map((spelling) => body[spelling] ?? generationConfig[spelling])
  return found.find((value) => typeof value === 'number')
}

/** What is written for a short question of this kind. */
async function bodyOf({ model, parameters, tools: { areOffered, isForced } }: Question): Promise<Body> {
  const call: ModelCall = {
    ...{ model, parameters, inputTokens: 0, tools: [], toolsAtOnce: 1, nativeTools: [], nativeToolUses: 0, userId: 0 },
    messages: [{ role: 'user', content: [{ type: 'text', text: '.' }] }],
    callerTools: areOffered ? [{ name: 'tool', inputSchema: { type: 'object' } }] : [],
    ...(isForced && { toolChoice: 'required' }),
    signal: new AbortController().signal,
  }
  return JSON.parse((await writtenFor(call, nowhere)).body)
}

const unsent = async () => {
  throw new Error('it is not sent')
}

const nowhere: Connection = {
  ...{ name: 'nowhere', apiUrl: 'http://127.0.0.1', apiKey: 'none', continuousUsage: false },
  ...{ fetch: unsent, send: unsent, read: unsent },
}
