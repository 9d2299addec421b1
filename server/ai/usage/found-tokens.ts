import type { LanguageModelV4ToolResult } from '@ai-sdk/provider'
import { MAX_PAGE_TOKENS } from '../../../routers/ports/ai/adapters.ts'
import { tokensIn, tokensOfPages } from '../../../routers/ports/ai/token-estimate.ts'

/** About how many tokens of input a provider makes of what a tool of its own found. */
export function tokensOfFound({ toolName, result }: LanguageModelV4ToolResult): number {
  const tokens = tokensOf(result)
  return toolName === 'web_fetch' ? Math.min(tokens, MAX_PAGE_TOKENS) : tokens
}

function tokensOf(value: unknown): number {
  if (typeof value === 'string') return tokensIn(value)
  if (typeof value !== 'object' || value === null) return 0
  const { type, data, encryptedContent, ...others } = value as Record<string, unknown>
  const rest = Object.values(others).reduce<number>((sum, one) => sum + tokensOf(one), 0)
  return rest + (type === 'base64' ? tokensOfPages(bytesOf(data)) : tokensOf(data)) + bytesOf(encryptedContent) / 4
}

/** A sealed text and a document are base64. */
const bytesOf = (base64: unknown): number => (typeof base64 === 'string' ? (base64.length / 4) * 3 : 0)
