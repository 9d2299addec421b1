import { Readable } from 'node:stream'
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { LRUCache } from 'lru-cache'
import type { Adapter } from '../../routers/ports/ai/adapters.ts'
import {
  type CallableModel,
  type CallParameters,
  noFiles,
  type ParameterContext,
  type UnsentParameter,
} from '../../routers/ports/ai/models.ts'
import type { Log } from '../../routers/ports/log.ts'
import { adapterDrivers } from './adapters.ts'
import { getUpstreamName } from './chat-model.ts'
import { Conversation } from './conversation.ts'
import { isThinking, limitThinking, lookUpCapabilities, mustCallTool } from './thinking.ts'

const MAX_KNOWN = 1000

/** Maximum temperatures of providers, to which their SDKs lower higher ones. */
const maxTemperatures: Partial<Record<Adapter, number>> = { anthropic: 1 }

/** Feature names in the warnings with which SDKs report parameters that a model does not support. */
const features = {
  temperature: 'temperature',
  topP: 'topP',
  effort: 'reasoning',
  thoughts: 'reasoningSummary',
} as const
type Name = keyof typeof features

/** Finds the parameters that would not reach the provider, by the warnings of its SDK. */
export class UnsentParameters {
  readonly #log: Log
  readonly #cache = new LRUCache<string, ReadonlySet<string>>({ max: MAX_KNOWN })

  constructor(log: Log) {
    this.#log = log
  }

  /**
   * Returns the parameters of the caller that would not be sent. A default of the model that would not be sent is only
   * logged, once.
   */
  async find(
    model: CallableModel,
    requested: CallParameters,
    circumstances: ParameterContext,
  ): Promise<UnsentParameter[]> {
    if (!adapterDrivers[model.adapter as Adapter].sdk) return []
    const isJsonByTool = await requestsJsonByTool(model, circumstances)
    const effective = { ...circumstances, isForced: circumstances.isForced || isJsonByTool }
    const names = listRequestedNames(requested)
    const defaults = names.length > 0 ? [] : listDefaultNames(model)
    if (names.length + defaults.length === 0 && !effective.isForced) return []
    const temperature = clampTemperature(model, requested)
    const options = await buildProbeOptions(model, { ...requested, temperature }, effective)
    const warnings = await this.#findWarnings(model, options, defaults)
    const unsupported: UnsentParameter[] = await Promise.all(
      names
        .filter((name) => warnings.has(features[name]))
        .map(async (name) => ({
          name,
          isAcceptedAlone: await this.#isAcceptedAlone(name, model, requested, effective),
        })),
    )
    if (warnings.has('toolChoice')) unsupported.push({ name: isJsonByTool ? 'schema' : 'toolChoice' })
    return [
      ...unsupported,
      ...(warnings.has('temperature') ? [] : findTooHighTemperature(requested, temperature)),
      ...findUnsentThinking(model, requested, { options, isJsonByTool }),
    ]
  }

  async #isAcceptedAlone(name: Name, model: CallableModel, requested: CallParameters, circumstances: ParameterContext) {
    const { [name]: value, stop, seed } = requested
    const warnings = await this.#findWarnings(
      model,
      await buildProbeOptions(model, { [name]: value, stop, seed }, circumstances),
    )
    return !warnings.has(features[name])
  }

  async #findWarnings(
    model: CallableModel,
    { prompt, abortSignal, ...options }: LanguageModelV4CallOptions,
    defaults: readonly Name[] = [],
  ): Promise<ReadonlySet<string>> {
    const key = JSON.stringify([model.adapter, getUpstreamName(model), options])
    const cached = this.#cache.get(key)
    if (cached) return cached
    const warnings = await readWarnings(model, { prompt, ...options })
    this.#cache.set(key, warnings)
    const unsupported = defaults.filter((name) => warnings.has(features[name]))
    if (unsupported.length > 0)
      this.#log.warn(
        { model: model.modelId, parameters: unsupported },
        'the model does not support its default parameters',
      )
    return warnings
  }
}

const listDefaultNames = ({ parameters }: CallableModel): Name[] =>
  (['temperature', 'topP'] as const).filter((name) => (parameters?.[name] ?? null) !== null)

/** An effort of `none` is left out only for models that never reason, and `auto` is only a wish. */
const listRequestedNames = (requested: CallParameters): Name[] =>
  (Object.keys(features) as Name[]).filter((name) => {
    const { [name]: value } = requested
    return value !== undefined && !(name === 'effort' && value === 'none') && !(name === 'thoughts' && value === 'auto')
  })

/** Returns true if the SDK requests JSON by a tool of its own. */
const requestsJsonByTool = async (model: CallableModel, { isForced, schema }: ParameterContext): Promise<boolean> =>
  model.adapter === 'anthropic' &&
  mustCallTool(await lookUpCapabilities(getUpstreamName(model)), {
    isForced: false,
    schema: isForced ? undefined : schema,
  })

function clampTemperature({ adapter }: CallableModel, { temperature }: CallParameters): number | undefined {
  return temperature && Math.min(temperature, maxTemperatures[adapter as Adapter] ?? temperature)
}

const findTooHighTemperature = ({ temperature = 0 }: CallParameters, max = 0): UnsentParameter[] =>
  temperature > max ? [{ name: 'temperature', max }] : []

/**
 * Returns the reasoning parameters that we leave out ourselves, because they exceed the output or precede a forced tool
 * call.
 */
function findUnsentThinking(
  { adapter }: CallableModel,
  requested: CallParameters,
  { options, isJsonByTool }: { options: LanguageModelV4CallOptions; isJsonByTool: boolean },
): UnsentParameter[] {
  if (adapter !== 'anthropic' || isThinking(options)) return []
  const names = listRequestedNames(requested)
  const isSampled = names.includes('temperature') || names.includes('topP')
  const unsent: UnsentParameter[] = []
  if (isSampled && names.includes('effort')) unsent.push({ name: 'effort', isAcceptedAlone: true })
  if (isJsonByTool && requested.maxThinkingTokens !== undefined)
    unsent.push({ name: 'maxThinkingTokens', isAcceptedAlone: true })
  return unsent
}

/** Builds the options of a short question with these parameters. The values of `stop` and `seed` don't matter. */
async function buildProbeOptions(
  { parameters, ...model }: CallableModel,
  requested: CallParameters,
  { hasTools, isForced, assistantPrefix }: ParameterContext,
): Promise<LanguageModelV4CallOptions> {
  const { temperature, topP, maxTokens, maxThinkingTokens } = parameters ?? {}
  const usesChatApi = requested.stop !== undefined || requested.seed !== undefined
  const conversation = new Conversation({
    model: { ...model, parameters: { temperature, topP, maxTokens, maxThinkingTokens } },
    parameters: {
      temperature: requested.temperature,
      topP: requested.topP,
      maxTokens: requested.maxTokens,
      effort: requested.effort,
      thinking: requested.thinking,
      maxThinkingTokens: requested.maxThinkingTokens,
      thoughts: requested.thoughts === 'auto' ? undefined : requested.thoughts,
      stop: usesChatApi ? ['.'] : undefined,
    },
    messages: [
      { role: 'user', content: [{ type: 'text', text: '.' }] },
      ...(assistantPrefix.length > 0 ? [{ role: 'assistant' as const, content: assistantPrefix }] : []),
    ],
    callerTools: hasTools || isForced ? [{ name: 'tool', inputSchema: { type: 'object' } }] : [],
    ...(isForced && { toolChoice: 'required' as const }),
    inputTokens: 0,
    files: noFiles,
    tools: [],
    toolsAtOnce: 1,
    nativeTools: [],
    nativeToolUses: 0,
    userId: 0,
    signal: AbortSignal.abort(),
  })
  const options = conversation.buildOptions(AbortSignal.abort(), false)
  return model.adapter === 'anthropic' ? limitThinking(getUpstreamName(model), options) : options
}

/** Responds with an empty stream, since an SDK begins each stream with its warnings. */
const respondWithEmptyStream = async () => new Response('', { headers: { 'content-type': 'text/event-stream' } })

/** Returns the features that the SDK leaves out of a request with these options. The request is not sent. */
async function readWarnings(model: CallableModel, options: LanguageModelV4CallOptions): Promise<ReadonlySet<string>> {
  const settings = { apiKey: 'none', fetch: respondWithEmptyStream }
  const sdk = await adapterDrivers[model.adapter as Adapter].sdk?.(getUpstreamName(model), settings, options)
  const answer = await sdk?.doStream({ ...options, prompt: options.prompt.slice(0, 1) })
  const parts: LanguageModelV4StreamPart[] = answer ? await Readable.from(answer.stream).toArray() : []
  const warnings = parts.flatMap((part) => (part.type === 'stream-start' ? part.warnings : []))
  const hasNoEffort = model.adapter === 'openai' && readSentEffort(answer?.request?.body) === 'none'
  return new Set([
    ...warnings.flatMap((warning) => (warning.type === 'unsupported' ? [warning.feature] : [])),
    ...(hasNoEffort ? [features.effort] : []),
  ])
}

/**
 * OpenAI's SDK gives no warning when it drops an effort, or sends `none` because the model supports no tools with
 * reasoning.
 */
function readSentEffort(body: unknown): string {
  const { reasoning, reasoning_effort } = (body ?? {}) as { reasoning?: { effort?: string }; reasoning_effort?: string }
  return reasoning_effort ?? reasoning?.effort ?? 'none'
}
