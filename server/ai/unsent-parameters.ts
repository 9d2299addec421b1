import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import type { CallableModel, CallParameters, ModelCall, UnsentParameter } from '../../routers/ports/ai/models.ts'
import type { Log } from '../../routers/ports/log.ts'
import { type Connection, upstreamName } from './chat-model.ts'
import { writtenFor } from './written.ts'

/** The parameters that an SDK leaves out or changes by its own list of models, of which it only warns. */
type Sampling = 'temperature' | 'topP'
type Thinking = 'effort' | 'thoughts'

const MAX_KNOWN = 1000

/** What decides about it. */
interface Question {
  model: CallableModel
  parameters: CallParameters
  hasTools: boolean
}

/** Knows which parameters would not reach a provider, by the requests that its SDK writes with and without them. */
export class UnsentParameters {
  readonly #log: Log
  readonly #known = new LRUCache<string, readonly UnsentParameter[]>({ max: MAX_KNOWN })

  constructor(log: Log) {
    this.#log = log
  }

  /** Those that the caller sets. What only the model's settings say may be left out, and is logged once. */
  async find(model: CallableModel, asked: CallParameters, hasTools: boolean): Promise<readonly UnsentParameter[]> {
    const { temperature, topP, maxThinkingTokens } = model.parameters ?? {}
    const parameters = decidingOf(model, asked)
    const isAsked = [...sampling, ...thinking].some((name) => parameters[name] !== undefined)
    if (model.adapter === 'demo' || !(isAsked || temperature !== undefined || topP !== undefined)) return []
    const defaults = { temperature, topP, maxThinkingTokens }
    const key = JSON.stringify([model.adapter, upstreamName(model), defaults, parameters, hasTools])
    const known = this.#known.get(key)
    if (known) return known
    const question = { model: { ...model, parameters: defaults, limits: null }, parameters, hasTools }
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

/** The parameters that matter, in few variants: any stop or seed is like another, and so is any effort that becomes a budget. */
function decidingOf({ adapter }: CallableModel, asked: CallParameters): CallParameters {
  const { temperature, topP, thinking, maxThinkingTokens, seed, stop } = asked
  const effort = asked.effort && adapter === 'anthropic' && asked.effort !== 'none' ? 'high' : asked.effort
  const thoughts = asked.thoughts === 'auto' ? undefined : asked.thoughts
  const isOlder = seed !== undefined || stop !== undefined
  return { temperature, topP, effort, thoughts, thinking, maxThinkingTokens, stop: isOlder ? ['.'] : undefined }
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
  const model = { ...question.model, parameters: null }
  const alone = await bodyOf({ ...question, model, parameters: { [name]: asked } })
  return { name, isTakenAlone: sentIn(alone, name) !== undefined }
}

/** Looked at alone, as it is one word of several about thoughts. An effort of `none` is left out only for models that never think. */
async function unsentThinking(name: Thinking, question: Question): Promise<UnsentParameter | undefined> {
  const { [name]: asked, stop } = question.parameters
  if (asked === undefined || asked === 'none') return undefined
  const model = { ...question.model, parameters: null }
  const [alone, without] = await Promise.all([
    bodyOf({ ...question, model, parameters: { [name]: asked, stop } }),
    bodyOf({ ...question, model, parameters: { stop } }),
  ])
  return isDeepStrictEqual(alone, without) ? { name } : undefined
}

type Body = Record<string, unknown> & { generationConfig?: Record<string, unknown> }

const spellings = { temperature: ['temperature'], topP: ['top_p', 'topP'] } as const

function sentIn({ generationConfig = {}, ...body }: Body, name: Sampling): number | undefined {
  const found = spellings[name].map((spelling) => body[spelling] ?? generationConfig[spelling])
  return found.find((value) => typeof value === 'number')
}

/** What is written for a short question of this kind. */
async function bodyOf({ model, parameters, hasTools }: Question): Promise<Body> {
  const call: ModelCall = {
    ...{ model, parameters, inputTokens: 0, tools: [], toolsAtOnce: 1, nativeTools: [], nativeToolUses: 0, userId: 0 },
    messages: [{ role: 'user', content: [{ type: 'text', text: '.' }] }],
    callerTools: hasTools ? [{ name: 'tool', inputSchema: { type: 'object' } }] : [],
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
