import type { LanguageModelV4ProviderTool } from '@ai-sdk/provider'
import type { Adapter, NativeTool } from '../../routers/ports/ai/adapters.ts'
import type { ModelCall } from '../../routers/ports/ai/models.ts'

type ProviderTool = Omit<LanguageModelV4ProviderTool, 'type'>

/** How often a provider that lets itself be told may search for one answer: each search is paid, and its results are read. */
const MAX_SEARCHES = 5

/** What providers call the tools that they run themselves, in the terms of the AI SDK. */
const providerTools: Partial<Record<Adapter, Record<NativeTool, ProviderTool>>> = {
  openai: { web_search: { id: 'openai.web_search', name: 'web_search', args: {} } },
  anthropic: {
    web_search: { id: 'anthropic.web_search_20250305', name: 'web_search', args: { maxUses: MAX_SEARCHES } },
  },
  google: { web_search: { id: 'google.google_search', name: 'google_search', args: {} } },
}

export const nativeToolsOf = ({ model, nativeTools }: ModelCall): LanguageModelV4ProviderTool[] =>
  nativeTools.flatMap((name) => {
    const tool = providerTools[model.adapter as Adapter]?.[name]
    return tool ? { type: 'provider', ...tool } : []
  })
