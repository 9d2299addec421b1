import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import type { CallableModel, CallParameters, Circumstances, UnsentParameter } from '../../routers/ports/ai/models.ts'
import type { Log } from '../../routers/ports/log.ts'
import { upstreamName } from './chat-model.ts'
import { longestAnswer } from './parameters.ts'
import { toProviderOptions } from './prompt/sanitize-parts.ts'
import { hasRoomToThink, isSigned } from './thinking/anthropic.ts'
import { capabilitiesOf, mustCallTool, unheld } from './thinking/forced-tools.ts'
import { type Body, bodyOf, type Question, type Sampling, sentIn } from './trial-request.ts'

/** Like those of sampling, an SDK leaves them out or changes them by its own list of models, of which it only warns. */
type Thinking = 'effort' | 'thoughts'

const MAX_KNOWN = 1000
/** Tokens of an answer in which the smallest effort has room for thoughts. */
const PLENTY = 100_000

/** Knows which parameters would not reach a provider, by the requests that its SDK writes with and without them. */
export class UnsentParameters {
  readonly #log: Log
  readonly #known = new LRUCache<string, readonly UnsentParameter[]>({ max: MAX_KNOWN })

  constructor(log: Log) {
    this.#log = log
  }

  /** Those that the caller sets. What only the model's settings say may be left out, and is logged once. */
  async find(
    model: CallableModel,
    asked: CallParameters,
    circumstances: Circumstances,
  ): Promise<readonly UnsentParameter[]> {
    if (model.adapter !== 'anthropic') return this.#find(model, asked, circumstances)
    const known = await capabilitiesOf(upstreamName(model))
    const unsent = unheld(known, asked, circumstances)
    if (unsent.length > 0) return unsent
    const isForced = mustCallTool(known, circumstances)
    const hasTools = circumstances.hasTools || isForced
    return this.#find(model, asked, { ...circumstances, hasTools, isForced })
  }

  async #find(
    model: CallableModel,
    asked: CallParameters,
    { begun, hasTools, isForced }: Circumstances,
  ): Promise<readonly UnsentParameter[]> {
    const { temperature, topP, maxTokens, maxThinkingTokens } = model.parameters ?? {}
    const parameters = decidingOf(model, asked)
    const isAsked = [...sampling, ...thinking].some((name) => parameters[name] !== undefined)
    if (model.adapter === 'demo' || !(isAsked || temperature !== undefined || topP !== undefined)) return []
    const defaults = { temperature, topP, maxTokens, maxThinkingTokens }
    const around = { hasTools, isForced, isUnthought: model.adapter === 'anthropic' && isUnthought(begun) }
    const question = { model: { ...model, parameters: defaults }, parameters, around }
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
function keyOf({ model, parameters: { maxTokens, ...parameters }, around }: Question): string {
  const most = model.limits?.maxOutputTokens
  const longest = longestAnswer({ model, parameters: { maxTokens } })
  const hasRoom = maxTokens === undefined ? undefined : hasRoomToThink({ model, parameters }, longest)
  return JSON.stringify([model.adapter, upstreamName(model), model.parameters, most, parameters, hasRoom, around])
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
 * Looked at alone, as it is one word of several about thoughts, and may come to none in a short answer; but beside a parameter
 * of sampling in the request as it is, as a model takes one of both. An effort of `none` is left out only for models that never
 * think.
 */
async function unsentThinking(name: Thinking, question: Question): Promise<UnsentParameter | undefined> {
  const { temperature, topP, [name]: asked, stop, maxTokens, thinking, maxThinkingTokens } = question.parameters
  if (asked === undefined || asked === 'none') return undefined
  const { model, around } = question
  const free = {
    ...question,
    model: { ...model, parameters: null, limits: null },
    around: { ...around, isForced: false, isUnthought: false },
  }
  const plain = { stop, maxTokens: PLENTY }
  if (await isSame({ ...free, parameters: { [name]: asked, ...plain } }, { ...free, parameters: plain }))
    return { name }
  if (temperature === undefined && topP === undefined) return undefined
  const most = model.parameters?.maxTokens
  const besides = { ...model, parameters: { maxTokens: most, maxThinkingTokens: model.parameters?.maxThinkingTokens } }
  const isLeftOut = await isSame(
    { model: besides, around, parameters: { [name]: asked, stop, maxTokens, thinking, maxThinkingTokens } },
    { model: { ...model, parameters: { maxTokens: most } }, around, parameters: { stop, maxTokens } },
  )
  return isLeftOut ? { name, isTakenAlone: true } : undefined
}

async function isSame(one: Question, other: Question): Promise<boolean> {
  const [body, otherBody] = await Promise.all([bodyOf(one), bodyOf(other)])
  return isDeepStrictEqual(body, otherBody)
}

const isUnthought = (begun: Circumstances['begun']) =>
  begun.some(({ type }) => type === 'tool-call') &&
  begun.every((part) => part.type !== 'reasoning' || !isSigned(toProviderOptions(part.signature)['anthropic']))
