import type {
  LanguageModelV4Content,
  LanguageModelV4ProviderTool,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResult,
} from '@ai-sdk/provider'
import {
  type Adapter,
  adaptersWithoutForcedTools,
  isNativeTool,
  MAX_PAGE_TOKENS,
  type NativeTool,
} from '../../routers/ports/ai/adapters.ts'
import type { ModelCall } from '../../routers/ports/ai/models.ts'
import { readForcedNativeTool } from '../../routers/ports/ai/tools.ts'
import type { UsageMeter } from '../../routers/ports/ai/usage-meter.ts'
import { countFoundTokens } from './reported-usage.ts'

type ProviderTool = Omit<LanguageModelV4ProviderTool, 'type'>

/** Tools that providers run themselves, by the names of the AI SDK. */
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

/** Adapters that accept a maximum number of uses for each tool. */
const adaptersWithMaxUses: ReadonlySet<string> = new Set<Adapter>(['anthropic'])

export const toProviderTools = ({ model, nativeTools, nativeToolUses }: ModelCall): LanguageModelV4ProviderTool[] =>
  nativeTools.flatMap((name) => {
    const tool = providerTools[model.adapter as Adapter]?.[name]
    if (!tool) return []
    const maxUses = adaptersWithMaxUses.has(model.adapter) && { maxUses: nativeToolUses }
    return { type: 'provider', ...tool, args: { ...tool.args, ...maxUses } }
  })

/** Returns the name by which a provider knows its tool, to force a call of it; undefined if no call can be forced. */
export const findForcedToolName = ({ model, toolChoice }: ModelCall): string | undefined => {
  const tool = readForcedNativeTool(toolChoice)
  if (!tool || adaptersWithoutForcedTools.has(model.adapter)) return undefined
  return providerTools[model.adapter as Adapter]?.[tool]?.name
}

/** Counts the uses and results of provider tools, which some providers report only at the end. */
export function meterToolUse(part: LanguageModelV4Content | LanguageModelV4StreamPart, meter: UsageMeter): void {
  if ((part.type !== 'tool-call' && part.type !== 'tool-result') || !isNativeTool(part.toolName)) return
  if (part.type === 'tool-result' && isUnbilled(part)) meter.recordToolUse(part.toolName, -1)
  if (part.type === 'tool-result') meter.addToolTokens(countFoundTokens(part))
  if (part.type === 'tool-call' && part.providerExecuted) meter.recordToolUse(part.toolName, 1)
}

/** True for a search that failed or was none: OpenAI uses the same item when it opens a page that it found. */
function isUnbilled({ isError, result }: LanguageModelV4ToolResult): boolean {
  const { action } = result as { action?: { type: string } }
  return isError === true || (action !== undefined && action.type !== 'search')
}
