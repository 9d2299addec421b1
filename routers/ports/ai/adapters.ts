export const adapters = [
  'openai-compatible',
  'open_web_ui',
  'openai',
  'anthropic',
  'google',
  'mistral',
  'demo',
] as const
export type Adapter = (typeof adapters)[number]

/** Default API addresses of providers. */
export const defaultAddresses: Record<Adapter, string | undefined> = {
  'openai-compatible': undefined,
  open_web_ui: undefined,
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  mistral: 'https://api.mistral.ai/v1',
  demo: undefined,
}

/** Adapters for self-hosted servers, whose address must be configured. */
export const selfHostedAdapters: ReadonlySet<unknown> = new Set<Adapter>(['openai-compatible', 'open_web_ui'])

/** Tools that providers run themselves, as far as the service uses them. */
export const nativeTools = {
  'openai-compatible': [],
  open_web_ui: [],
  openai: ['web_search'],
  anthropic: ['web_search', 'web_fetch'],
  google: ['web_search', 'web_fetch'],
  mistral: [],
  demo: [],
} as const satisfies Record<Adapter, readonly string[]>

/** Provider tools that a request may ask for. */
export const optionalTools = ['web_search', 'web_fetch'] as const satisfies readonly NativeTool[]

/** A tool that a provider runs itself, named by its capability. */
export type NativeTool = (typeof nativeTools)[Adapter][number]

/** Tools that models of Anthropic know and callers run, with the names by which the models call them. */
export const clientToolNames = {
  bash_20241022: 'bash',
  bash_20250124: 'bash',
  text_editor_20241022: 'str_replace_editor',
  text_editor_20250124: 'str_replace_editor',
  text_editor_20250429: 'str_replace_based_edit_tool',
  text_editor_20250728: 'str_replace_based_edit_tool',
  computer_20241022: 'computer',
  computer_20250124: 'computer',
  computer_20251124: 'computer',
  memory_20250818: 'memory',
} as const
export type ClientToolType = keyof typeof clientToolNames

/** Tokens of a fetched page, for providers that accept a limit; each is billed as input. */
export const MAX_PAGE_TOKENS = 25_000

/** Adapters that accept no limits for the number of tool uses and the length of pages. */
export const adaptersWithoutToolLimits: ReadonlySet<string> = new Set<Adapter>(['google'])

/** Adapters whose models decide themselves whether to call a tool of the provider. */
export const adaptersWithoutForcedTools: ReadonlySet<string> = new Set<Adapter>(['google'])

/** Pages that Google reads per request. */
export const MAX_UNBOUNDED_PAGES = 20

const nativeToolNames: ReadonlySet<string> = new Set(Object.values(nativeTools).flat())

export const isNativeTool = (name: string): name is NativeTool => nativeToolNames.has(name)

/**
 * Parameters that shape an answer without changing its subject. They are omitted for models that do not support them.
 */
export const hintParameters = [
  'topK',
  'presencePenalty',
  'frequencyPenalty',
  'verbosity',
  'templateOptions',
  'logprobs',
  'topLogprobs',
  'cache',
  'cacheKey',
  'cacheRetention',
] as const
export type HintParameter = (typeof hintParameters)[number]

type UnsupportedParameter = HintParameter | 'seed' | 'maxThinkingTokens' | 'documents' | 'JSON without a schema'

const penalties = ['presencePenalty', 'frequencyPenalty'] as const
const logprobs = ['logprobs', 'topLogprobs'] as const

/** Hints for the caches of OpenAI; other providers cache by marks (Anthropic) or by themselves. */
const cacheNames = ['cacheKey', 'cacheRetention'] as const
const cacheHints = ['cache', ...cacheNames] as const

/** Parameters that the API of an adapter, or some of its servers, does not support. */
export const unsupportedByAdapter: Record<Adapter, readonly UnsupportedParameter[]> = {
  'openai-compatible': ['documents', 'maxThinkingTokens', 'topK', ...cacheHints],
  open_web_ui: ['documents', 'maxThinkingTokens', 'topK', ...cacheHints],
  openai: ['maxThinkingTokens', 'topK', 'templateOptions', ...penalties, ...logprobs, 'cache'],
  anthropic: [
    'seed',
    'JSON without a schema',
    'verbosity',
    'templateOptions',
    ...penalties,
    ...logprobs,
    ...cacheNames,
  ],
  // Newer models refuse penalties.
  google: ['verbosity', 'templateOptions', ...penalties, ...logprobs, ...cacheHints],
  mistral: ['maxThinkingTokens', 'topK', 'verbosity', 'templateOptions', ...logprobs, ...cacheHints],
  demo: [
    'documents',
    'maxThinkingTokens',
    'topK',
    'verbosity',
    'templateOptions',
    ...penalties,
    ...logprobs,
    ...cacheHints,
  ],
}

/**
 * The most tokens that providers count for an image and for a page of a document, which is its text and an image. They
 * state up to 3000 tokens for the text of a page and 1600 (Anthropic) to 4160 (Mistral) for its image, and for an image
 * 4784 (Anthropic), 10,000 patches of 1.2 (OpenAI), 16 tiles of 258 (Google); servers of open models up to 16,384.
 */
export const maxFileTokens: Record<Adapter, { image: number; page: number }> = {
  'openai-compatible': { image: 16_384, page: 16_384 },
  open_web_ui: { image: 16_384, page: 16_384 },
  openai: { image: 12_000, page: 6000 },
  anthropic: { image: 4784, page: 4600 },
  google: { image: 4128, page: 2240 },
  mistral: { image: 4160, page: 7160 },
  demo: { image: 1600, page: 1500 },
}
