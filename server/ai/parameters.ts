import type { JSONObject, LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelParameters } from '../../entities/catalogue/ai-model.ts'
import type { Adapter } from '../../routers/ports/ai/adapters.ts'
import type { CallableModel, JsonFormat, ModelCall } from '../../routers/ports/ai/models.ts'
import { toCacheControl } from './cache-marks.ts'
import { getUpstreamName } from './chat-model.ts'
import { computeThinkingBudget } from './thinking.ts'

export type CallOptions = Omit<LanguageModelV4CallOptions, 'prompt' | 'abortSignal' | 'tools' | 'toolChoice'>

/** Returns the options of the AI SDK for a call: the caller's parameters, then the defaults of the model. */
export function buildCallOptions(call: ModelCall): CallOptions {
  const { model, parameters, format } = call
  const { temperature, topP } = { ...readDefaults(call), ...pickDefined(parameters) }
  const maxOutputTokens = computeMaxOutputTokens(call)
  const budget = computeThinkingBudget(call, maxOutputTokens)
  return {
    ...pickDefined({
      temperature,
      topP,
      topK: parameters.topK,
      seed: parameters.seed,
      reasoning: isSwitchedOffByTemplate(call) ? undefined : parameters.effort,
      presencePenalty: parameters.presencePenalty,
      frequencyPenalty: parameters.frequencyPenalty,
    }),
    ...(parameters.stop && { stopSequences: [...parameters.stop] }),
    ...(format && { responseFormat: toResponseFormat(format) }),
    ...(Number.isFinite(maxOutputTokens) && !findLimitName(call) && { maxOutputTokens }),
    providerOptions: providerOptionBuilders[model.adapter as Adapter](call, budget),
  }
}

/** Returns the maximum number of output tokens by the caller, the model and the limits; `Infinity` if none is set. */
function computeMaxOutputTokens({
  model: { parameters: defaults, limits },
  parameters: { maxTokens = defaults?.maxTokens ?? Infinity },
  maxOutputTokens = Infinity,
}: Pick<ModelCall, 'model' | 'parameters' | 'maxOutputTokens'>): number {
  return Math.min(maxTokens, limits?.maxOutputTokens ?? Infinity, maxOutputTokens)
}

/**
 * Returns the model's default parameters. Anthropic accepts either `topP` or a temperature, so the caller's `topP`
 * drops the default temperature.
 */
function readDefaults({ model, parameters }: ModelCall): ModelParameters {
  const { temperature, ...others } = model.parameters ?? {}
  const excludesTemperature = model.adapter === 'anthropic' && parameters.topP !== undefined
  return excludesTemperature ? others : { temperature, ...others }
}

const toResponseFormat = ({ name, description, schema }: JsonFormat) =>
  ({ type: 'json', ...pickDefined({ name, description, schema }) }) as NonNullable<CallOptions['responseFormat']>

/** Returns the members that are not undefined. */
function pickDefined<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Members
}

/** Returns the other parameters, which are added to the request body unchanged. */
export function pickExtraMembers({ parameters }: CallableModel): Record<string, unknown> {
  const { temperature: _t, topP: _p, maxTokens: _m, maxThinkingTokens: _th, ...extra } = parameters ?? {}
  return extra
}

type ProviderOptionsBuilder = (call: ModelCall, budget: number | undefined) => SharedV4ProviderOptions

/** Returns no options for a plain question, as the SDK would validate them against a schema. */
const buildCompatibleOptions: ProviderOptionsBuilder = (call) => {
  const { format, parameters } = call
  const limit = findLimitName(call)
  const options = pickDefined({
    strictJsonSchema: format && (format.strict ?? false),
    parallel_tool_calls: parameters.parallelTools,
    textVerbosity: parameters.verbosity,
    logprobs: parameters.logprobs || undefined,
    top_logprobs: parameters.logprobs ? parameters.topLogprobs : undefined,
    chat_template_kwargs: (isSwitchedOffByTemplate(call)
      ? { enable_thinking: false, ...parameters.templateOptions }
      : parameters.templateOptions) as JSONObject | undefined,
    ...(limit && { [limit]: computeMaxOutputTokens(call) }),
  })
  return Object.keys(options).length > 0 ? { compatible: options } : {}
}

/** Returns true if the chat template of an open model is to switch its thinking off. */
const isSwitchedOffByTemplate = ({ model: { adapter, settings }, parameters: { effort } }: ModelCall): boolean =>
  effort === 'none' && compatibleAdapters.has(adapter) && settings?.thinking?.includes('off') === true

/** OpenAI's reasoning models do not accept `max_tokens`. */
const modelsWithCompletionLimit = /^(?:.*\/)?(?:o\d|gpt-(?:[5-9]|\d\d))/i

/** Returns the name of the output limit for servers of OpenAI's protocol, if it is not `max_tokens`. */
function findLimitName(call: ModelCall): 'max_completion_tokens' | undefined {
  const { model, parameters } = call
  if (!compatibleAdapters.has(model.adapter) || !Number.isFinite(computeMaxOutputTokens(call))) return undefined
  return modelsWithCompletionLimit.test(getUpstreamName(model)) ? 'max_completion_tokens' : parameters.maxTokensName
}

const compatibleAdapters: ReadonlySet<string> = new Set<Adapter>(['openai-compatible', 'open_web_ui'])

/** Options of the AI SDK that only one kind of provider has. */
const providerOptionBuilders: Record<Adapter, ProviderOptionsBuilder> = {
  openai: (call) => {
    const { parameters, nativeTools, nativeToolUses: maxToolCalls } = call
    const { thoughts, cacheKey: promptCacheKey, cacheRetention: promptCacheRetention } = parameters
    const more = {
      ...pickDefined({ reasoningSummary: thoughts, textVerbosity: parameters.verbosity }),
      ...pickDefined({ promptCacheKey, promptCacheRetention }),
      ...(nativeTools.length > 0 && { maxToolCalls }),
    }
    // Never ask the provider to store conversations.
    return { openai: { store: false, ...buildStrictOptions(call), ...more } }
  },
  'openai-compatible': buildCompatibleOptions,
  open_web_ui: buildCompatibleOptions,
  mistral: (call) => ({ mistral: buildStrictOptions(call) }),
  anthropic: ({ parameters: { parallelTools, thinking, cache } }, budget) => ({
    anthropic: {
      ...(cache && { cacheControl: toCacheControl(cache) }),
      ...(parallelTools === false && { disableParallelToolUse: true }),
      ...(thinking && { thinking: { type: thinking } }),
      ...(budget !== undefined && { thinking: { type: 'enabled', budgetTokens: budget } }),
    },
  }),
  google: ({ parameters: { thoughts } }, budget) => ({
    google: {
      ...((budget !== undefined || thoughts) && {
        thinkingConfig: pickDefined({ thinkingBudget: budget, includeThoughts: thoughts && true }),
      }),
    },
  }),
  demo: () => ({}),
}

const buildStrictOptions = ({ format, parameters: { parallelTools } }: ModelCall) => ({
  strictJsonSchema: format?.strict ?? false,
  ...(parallelTools !== undefined && { parallelToolCalls: parallelTools }),
})
