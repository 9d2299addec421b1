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

/** Where the API of a provider is that has an address of its own. */
export const defaultAddresses: Record<Adapter, string | undefined> = {
  'openai-compatible': undefined,
  open_web_ui: undefined,
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  mistral: 'https://api.mistral.ai/v1',
  demo: undefined,
}

/** Kinds of which anybody may run a server, so that its address must be given. */
export const selfHostedAdapters: ReadonlySet<unknown> = new Set<Adapter>(['openai-compatible', 'open_web_ui'])

/** What providers of a kind do themselves for their models, as far as the service asks them to. */
export const nativeTools = {
  'openai-compatible': [],
  open_web_ui: [],
  openai: ['web_search'],
  anthropic: ['web_search', 'web_fetch'],
  google: ['web_search', 'web_fetch'],
  mistral: [],
  demo: [],
} as const satisfies Record<Adapter, readonly string[]>

/** Those that a request may ask for if there are any. */
export const optionalTools = ['web_search', 'web_fetch'] as const satisfies readonly NativeTool[]

/** A tool that a provider runs itself, by what it is capable of. */
export type NativeTool = (typeof nativeTools)[Adapter][number]

/** How long a page may be in tokens that a provider reads which lets itself be told: each is paid as input. */
export const MAX_PAGE_TOKENS = 25_000

/** Providers that are not told how often they may use tools of their own, nor how long a page may be. */
export const adaptersWithoutToolLimits: ReadonlySet<string> = new Set<Adapter>(['google'])

/** As many pages as Google reads for one request. */
export const MAX_UNBOUNDED_PAGES = 20

const nativeToolNames: ReadonlySet<string> = new Set(Object.values(nativeTools).flat())

export const isNativeTool = (name: string): name is NativeTool => nativeToolNames.has(name)

type UnsupportedParameter =
  | 'seed'
  | 'maxThinkingTokens'
  | 'documents'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'verbosity'
  | 'templateOptions'
  | 'JSON without a schema'

const penalties = ['presencePenalty', 'frequencyPenalty'] as const

/** What the API of a provider has no word for, or none that every server of the kind knows. */
export const unsupportedByAdapter: Record<Adapter, readonly UnsupportedParameter[]> = {
  'openai-compatible': ['documents', 'maxThinkingTokens', 'topK'],
  open_web_ui: ['documents', 'maxThinkingTokens', 'topK'],
  openai: ['maxThinkingTokens', 'topK', 'templateOptions', ...penalties],
  anthropic: ['seed', 'JSON without a schema', 'verbosity', 'templateOptions', ...penalties],
  // Its newer models refuse penalties.
  google: ['verbosity', 'templateOptions', ...penalties],
  mistral: ['maxThinkingTokens', 'topK', 'verbosity', 'templateOptions'],
  demo: ['documents', 'maxThinkingTokens', 'topK', 'verbosity', 'templateOptions', ...penalties],
}

/**
 * What providers count at most for an image, and for a page of a document, which is its text beside an image of it. They
 * say up to 3000 tokens for the text of a page and 1600 (Anthropic) to 4160 (Mistral) for its image, and for one of an
 * image 4784 (Anthropic), 10,000 patches of 1.2 (OpenAI), 16 tiles of 258 (Google); servers of open models up to 16,384.
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
