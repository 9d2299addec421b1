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
import { upstreamName } from './chat-model.ts'
import { Conversation } from './conversation.ts'
import { isThinking, limitThinking, lookUpCapabilities, mustCallTool } from './thinking.ts'

const MAX_KNOWN = 1000

/** The highest temperature of a provider, to which its SDK lowers a higher one. */
const maxTemperatures: Partial<Record<Adapter, number>> = { anthropic: 1 }

/** The names by which SDKs warn of the parameters that they leave out by their own lists of models. */
const features = {
  temperature: 'temperature',
  topP: 'topP',
  effort: 'reasoning',
  thoughts: 'reasoningSummary',
} as const
type Name = keyof typeof features

/** Finds which parameters would not reach a provider, by the warnings of its SDK. */
export class UnsentParameters {
  readonly #log: Log
  readonly #cache = new LRUCache<string, ReadonlySet<string>>({ max: MAX_KNOWN })

  constructor(log: Log) {
    this.#log = log
  }

  /** Those that the caller sets. One that only the model's settings say may be left out, and is logged once. */
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
    const unsent: UnsentParameter[] = await Promise.all(
      names
        .filter((name) => warnings.has(features[name]))
        .map(async (name) => ({ name, isAcceptedAlone: await this.#isAcceptedAlone(name, model, requested, effective) })),
    )
    if (warnings.has('toolChoice')) unsent.push({ name: isJsonByTool ? 'schema' : 'toolChoice' })
    return [
      ...unsent,
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
    const key = JSON.stringify([model.adapter, upstreamName(model), options])
    const cached = this.#cache.get(key)
    if (cached) return cached
    const warnings = await readWarnings(model, { prompt, ...options })
    this.#cache.set(key, warnings)
    const unsent = defaults.filter((name) => warnings.has(features[name]))
    if (unsent.length > 0)
      this.#log.warn({ model: model.modelId, parameters: unsent }, 'parameters of a model are nothing that it takes')
    return warnings
  }
}

const listDefaultNames = ({ parameters }: CallableModel): Name[] =>
  (['temperature', 'topP'] as const).filter((name) => (parameters?.[name] ?? null) !== null)

/** An effort of `none` is left out only for models that never think, and thoughts of `auto` are a wish. */
const listRequestedNames = (requested: CallParameters): Name[] =>
  (Object.keys(features) as Name[]).filter((name) => {
    const { [name]: value } = requested
    return value !== undefined && !(name === 'effort' && value === 'none') && !(name === 'thoughts' && value === 'auto')
  })

/** The SDK asks for JSON by a tool of its own. */
const requestsJsonByTool = async (model: CallableModel, { isForced, schema }: ParameterContext): Promise<boolean> =>
  model.adapter === 'anthropic' &&
  mustCallTool(await lookUpCapabilities(upstreamName(model)), {
    isForced: false,
    schema: isForced ? undefined : schema,
  })

function clampTemperature({ adapter }: CallableModel, { temperature }: CallParameters): number | undefined {
  return temperature && Math.min(temperature, maxTemperatures[adapter as Adapter] ?? temperature)
}

const findTooHighTemperature = ({ temperature = 0 }: CallParameters, max = 0): UnsentParameter[] =>
  temperature > max ? [{ name: 'temperature', max }] : []

/** The thoughts that we leave out ourselves, as they have no room in the answer, or no place before a call that must come. */
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

/** The options of a short question with these parameters; any stop or seed is like another. */
async function buildProbeOptions(
  { parameters, ...model }: CallableModel,
  requested: CallParameters,
  { hasTools, isForced, begun }: ParameterContext,
): Promise<LanguageModelV4CallOptions> {
  const { temperature, topP, maxTokens, maxThinkingTokens } = parameters ?? {}
  const usesChatApi = requested.stop !== undefined || requested.seed !== undefined
  const conversation = new Conversation({
    model: { ...model, parameters: { temperature, topP, maxTokens, maxThinkingTokens } },
    parameters: {
      ...{
        temperature: requested.temperature,
        topP: requested.topP,
        maxTokens: requested.maxTokens,
        effort: requested.effort,
      },
      ...{ thinking: requested.thinking, maxThinkingTokens: requested.maxThinkingTokens },
      thoughts: requested.thoughts === 'auto' ? undefined : requested.thoughts,
      stop: usesChatApi ? ['.'] : undefined,
    },
    messages: [
      { role: 'user', content: [{ type: 'text', text: '.' }] },
      ...(assistantPrefix.length > 0 ? [{ role: 'assistant' as const, content: assistantPrefix }] : []),
    ],
    callerTools: hasTools || isForced ? [{ name: 'tool', inputSchema: { type: 'object' } }] : [],
    ...(isForced && { toolChoice: 'required' as const }),
    ...{ inputTokens: 0, files: noFiles, tools: [], toolsAtOnce: 1, nativeTools: [], nativeToolUses: 0, userId: 0 },
    signal: AbortSignal.abort(),
  })
  const options = conversation.buildOptions(AbortSignal.abort(), false)
  return model.adapter === 'anthropic' ? limitThinking(upstreamName(model), options) : options
}

/** Answers with a stream without events: an SDK begins each with its warnings. */
const respondWithEmptyStream = async () => new Response('', { headers: { 'content-type': 'text/event-stream' } })

/** The names of what the SDK leaves out of a request with these options, which is not sent. */
async function readWarnings(model: CallableModel, options: LanguageModelV4CallOptions): Promise<ReadonlySet<string>> {
  const settings = { apiKey: 'none', fetch: respondWithEmptyStream }
  const sdk = await adapterDrivers[model.adapter as Adapter].sdk?.(upstreamName(model), settings, options)
  const answer = await sdk?.doStream({ ...options, prompt: options.prompt.slice(0, 1) })
  const parts: LanguageModelV4StreamPart[] = answer ? await Readable.from(answer.stream).toArray() : []
  const warnings = parts.flatMap((part) => (part.type === 'stream-start' ? part.warnings : []))
  const hasNoEffort = model.adapter === 'openai' && readSentEffort(answer?.request?.body) === 'none'
  return new Set([
    ...warnings.flatMap((warning) => (warning.type === 'unsupported' ? [warning.feature] : [])),
    ...(hasNoEffort ? [features.effort] : []),
  ])
}

/** The SDK of OpenAI says nothing of an effort that it leaves out, or makes none where it takes no tools beside thoughts. */
function readSentEffort(body: unknown): string {
  const { reasoning, reasoning_effort } = (body ?? {}) as { reasoning?: { effort?: string }; reasoning_effort?: string }
  return reasoning_effort ?? reasoning?.effort ?? 'none'
}
