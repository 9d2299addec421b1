import type { JSONObject, LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { ModelParameters } from '../../entities/catalogue/ai-model.ts'
import type { Adapter } from '../../routers/ports/ai/adapters.ts'
import type { CallableModel, JsonFormat, ModelCall } from '../../routers/ports/ai/models.ts'
import { upstreamName } from './chat-model.ts'
import { thinkingBudget } from './thinking.ts'

export type CallOptions = Omit<LanguageModelV4CallOptions, 'prompt' | 'abortSignal' | 'tools' | 'toolChoice'>

/** What the AI SDK has an option for: as the caller sets it, else as the model has it. */
export function callOptions(call: ModelCall): CallOptions {
  const { model, parameters, format } = call
  const { temperature, topP } = { ...defaultsFor(call), ...given(parameters) }
  const maxOutputTokens = longestAnswer(call)
  const budget = thinkingBudget(call, maxOutputTokens)
  return {
    ...given({ temperature, topP, topK: parameters.topK, seed: parameters.seed, reasoning: parameters.effort }),
    ...given({ presencePenalty: parameters.presencePenalty, frequencyPenalty: parameters.frequencyPenalty }),
    ...(parameters.stop && { stopSequences: [...parameters.stop] }),
    ...(format && { responseFormat: asResponseFormat(format) }),
    ...(Number.isFinite(maxOutputTokens) && !completionLimitName(call) && { maxOutputTokens }),
    providerOptions: ownOptions[model.adapter as Adapter](call, budget),
  }
}

/** In tokens, as the caller, the model and the limits bound it; `Infinity` where none of them does. */
function longestAnswer({
  model: { parameters: defaults, limits },
  parameters: { maxTokens = defaults?.maxTokens ?? Infinity },
  maxOutputTokens = Infinity,
}: Pick<ModelCall, 'model' | 'parameters' | 'maxOutputTokens'>): number {
  return Math.min(maxTokens, limits?.maxOutputTokens ?? Infinity, maxOutputTokens)
}

/** What the model is asked with where the caller sets nothing. Models of Anthropic take `topP` only where there is no temperature. */
function defaultsFor({ model, parameters }: ModelCall): ModelParameters {
  const { temperature, ...others } = model.parameters ?? {}
  const isInTheWay = model.adapter === 'anthropic' && parameters.topP !== undefined
  return isInTheWay ? others : { temperature, ...others }
}

const asResponseFormat = ({ name, description, schema }: JsonFormat) =>
  ({ type: 'json', ...given({ name, description, schema }) }) as NonNullable<CallOptions['responseFormat']>

/** The members that are set. */
function given<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Members
}

/** Returns the other parameters, which are written into the request body unchanged. */
export function extraMembers({ parameters }: CallableModel): Record<string, unknown> {
  const { temperature: _t, topP: _p, maxTokens: _m, maxThinkingTokens: _th, ...extra } = parameters ?? {}
  return extra
}

type OwnOptions = (call: ModelCall, budget: number | undefined) => SharedV4ProviderOptions

/** The SDK looks at them by a schema, which a plain question is spared. */
const compatibleOptions: OwnOptions = (call) => {
  const { format, parameters } = call
  const limit = completionLimitName(call)
  const own = given({
    strictJsonSchema: format && (format.strict ?? false),
    parallel_tool_calls: parameters.parallelTools,
    textVerbosity: parameters.verbosity,
    chat_template_kwargs: parameters.templateOptions as JSONObject | undefined,
    ...(limit && { [limit]: longestAnswer(call) }),
  })
  return Object.keys(own).length > 0 ? { compatible: own } : {}
}

/** Models of OpenAI that think take no `max_tokens`. */
const onlyCompletionLimit = /^(?:.*\/)?(?:o\d|gpt-(?:[5-9]|\d\d))/i

/** How a server of OpenAI's protocol is told the longest answer, where that is not `max_tokens`. */
function completionLimitName(call: ModelCall): 'max_completion_tokens' | undefined {
  const { model, parameters } = call
  if (!compatible.has(model.adapter) || !Number.isFinite(longestAnswer(call))) return undefined
  return onlyCompletionLimit.test(upstreamName(model)) ? 'max_completion_tokens' : parameters.maxTokensName
}

const compatible: ReadonlySet<string> = new Set<Adapter>(['openai-compatible', 'open_web_ui'])

/** What the AI SDK has for one kind of provider alone, which reads it by a name of its own. */
const ownOptions: Record<Adapter, OwnOptions> = {
  openai: (call) => {
    const { parameters, nativeTools, nativeToolUses: maxToolCalls } = call
    const { thoughts } = parameters
    const more = {
      ...given({ reasoningSummary: thoughts, textVerbosity: parameters.verbosity }),
      ...(nativeTools.length > 0 && { maxToolCalls }),
    }
    // No provider is asked to keep what people say.
    return { openai: { store: false, ...strictness(call), ...more } }
  },
  'openai-compatible': compatibleOptions,
  open_web_ui: compatibleOptions,
  mistral: (call) => ({ mistral: strictness(call) }),
  anthropic: ({ parameters: { parallelTools, thinking } }, budget) => ({
    anthropic: {
      ...(parallelTools === false && { disableParallelToolUse: true }),
      ...(thinking && { thinking: { type: thinking } }),
      ...(budget !== undefined && { thinking: { type: 'enabled', budgetTokens: budget } }),
    },
  }),
  google: ({ parameters: { thoughts } }, budget) => ({
    google: {
      ...((budget !== undefined || thoughts) && {
        thinkingConfig: given({ thinkingBudget: budget, includeThoughts: thoughts && true }),
      }),
    },
  }),
  demo: () => ({}),
}

const strictness = ({ format, parameters: { parallelTools } }: ModelCall) => ({
  strictJsonSchema: format?.strict ?? false,
  ...(parallelTools !== undefined && { parallelToolCalls: parallelTools }),
})
