import type { LanguageModelV4ProviderTool } from '@ai-sdk/provider'
import type { Adapter, NativeTool } from '../../routers/ports/ai/adapters.ts'
import type { ModelCall } from '../../routers/ports/ai/models.ts'

type ProviderTool = Omit<LanguageModelV4ProviderTool, 'type'>

/** How long a page may be in tokens that a provider reads which lets itself be told: each is paid as input. */
const MAX_PAGE_TOKENS = 25_000

/** What providers call the tools that they run themselves, in the terms of the AI SDK. */
const providerTools: Partial<Record<Adapter, Partial<Record<NativeTool, ProviderTool>>>> = {
  openai: { web_search: { id: 'openai.web_search', name: 'web_search', args: {} } },
  anthropic: {
    web_search: { id: 'anthropic.web_search_20250305', name: 'web_search', args: {} },
    web_fetch: {
      id: 'anthropic.web_fetch_20250910',
      name: 'web_fetch',
      args: { maxContentTokens: MAX_PAGE_TOKENS },
    },
  },
  google: {
    web_search: { id: 'google.google_search', name: 'google_search', args: {} },
    web_fetch: { id: 'google.url_context', name: 'url_context', args: {} },
  },
}

/** Providers that are told for each tool how often it may run for one answer. */
const bounded: ReadonlySet<string> = new Set<Adapter>(['anthropic'])

export const nativeToolsOf = ({ model, nativeTools, nativeToolUses }: ModelCall): LanguageModelV4ProviderTool[] =>
  nativeTools.flatMap((name) => {
    const tool = providerTools[model.adapter as Adapter]?.[name]
    if (!tool) return []
    const bound = bounded.has(model.adapter) && { maxUses: nativeToolUses }
    return { type: 'provider', ...tool, args: { ...tool.args, ...bound } }
  })
